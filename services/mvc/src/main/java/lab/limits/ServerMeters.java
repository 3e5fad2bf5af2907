package lab.limits;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

import org.springframework.stereotype.Component;

/**
 * Tomcat's connections and threads, under the names that they have where Micrometer reads
 * them from Tomcat's MBeans. Spring Boot switches these off from 2.2 on: each request in
 * flight would register one.
 */
@Component
class ServerMeters implements MeterBinder {

	private final MainServer server;

	ServerMeters(MainServer server) {
		this.server = server;
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		Gauge.builder("tomcat.connections.current", this.server, MainServer::connections)
			.baseUnit("connections")
			.register(registry);
		if (!this.server.isVirtual()) {
			Gauge.builder("tomcat.threads.busy", this.server, MainServer::requestThreadsBusy)
				.baseUnit("threads")
				.register(registry);
			Gauge.builder("tomcat.threads.current", this.server, MainServer::requestThreadsLive)
				.baseUnit("threads")
				.register(registry);
		}
	}

}
