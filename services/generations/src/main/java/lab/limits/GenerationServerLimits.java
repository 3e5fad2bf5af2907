package lab.limits;

import java.util.function.IntConsumer;

import org.apache.catalina.connector.Connector;
import org.apache.coyote.http11.AbstractHttp11Protocol;

import org.springframework.core.env.Environment;
import org.springframework.stereotype.Component;

/**
 * Sets Tomcat's limits by the current generation's properties, of which each has others or
 * none.
 */
@Component
class GenerationServerLimits {

	private static final String PREFIX = "server.tomcat.";

	private final Environment environment;

	GenerationServerLimits(Environment environment) {
		this.environment = environment;
	}

	void customize(Connector connector) {
		AbstractHttp11Protocol<?> protocol = (AbstractHttp11Protocol<?>) connector.getProtocolHandler();
		set("threads.max", (threads) -> {
			protocol.setMaxThreads(threads);
			protocol.setMinSpareThreads(Math.min(threads, protocol.getMinSpareThreads()));
		});
		set("accept-count", protocol::setAcceptCount);
		set("max-connections", protocol::setMaxConnections);
		set("max-keep-alive-requests", protocol::setMaxKeepAliveRequests);
		set("keep-alive-timeout", protocol::setKeepAliveTimeout);
		set("processor-cache", protocol::setProcessorCache);
		protocol.setMaxHttpHeaderSize(this.environment.getRequiredProperty("lab.max-head-bytes", Integer.class));
	}

	private void set(String property, IntConsumer limit) {
		Integer value = this.environment.getProperty(PREFIX + property, Integer.class);
		if (value != null) {
			limit.accept(value);
		}
	}

}
