package lab.chain;

import java.util.concurrent.atomic.AtomicReference;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.binder.httpcomponents.hc5.PoolingHttpClientConnectionManagerMetricsBinder;
import lab.limits.Pool;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManager;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder;
import org.apache.hc.core5.pool.PoolStats;
import org.apache.hc.core5.util.TimeValue;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.http.client.HttpComponentsClientHttpRequestFactoryBuilder;
import org.springframework.boot.http.client.autoconfigure.ClientHttpRequestFactoryBuilderCustomizer;
import org.springframework.stereotype.Component;

/**
 * Makes the pool itself, as Boot would have made it, since neither Boot nor the client
 * shows the one that it makes.
 */
@Component
@ConditionalOnProperty("lab.backend-url")
class BackendPool implements ClientHttpRequestFactoryBuilderCustomizer<HttpComponentsClientHttpRequestFactoryBuilder>,
		Pool, MeterBinder {

	private volatile PoolingHttpClientConnectionManager connections;

	@Override
	public HttpComponentsClientHttpRequestFactoryBuilder customize(
			HttpComponentsClientHttpRequestFactoryBuilder builder) {
		AtomicReference<PoolingHttpClientConnectionManagerBuilder> prepared = new AtomicReference<>();
		return builder.withConnectionManagerCustomizer(prepared::set).withHttpClientCustomizer((client) -> {
			this.connections = prepared.get().build();
			client.setConnectionManager(this.connections);
		});
	}

	@Override
	public String to() {
		return "backend";
	}

	/**
	 * All connections are of one route, since there is one backend.
	 */
	@Override
	public int max() {
		return Math.min(this.connections.getMaxTotal(), this.connections.getDefaultMaxPerRoute());
	}

	@Override
	public int live() {
		PoolStats stats = this.connections.getTotalStats();
		return stats.getLeased() + stats.getAvailable();
	}

	/**
	 * Leave connections that nobody uses, since a call has failed on one: the others may
	 * be as dead, and each would cost a call of its own. Netty's client sees that by itself.
	 */
	void leaveIdle() {
		this.connections.closeIdle(TimeValue.ZERO_MILLISECONDS);
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		new PoolingHttpClientConnectionManagerMetricsBinder(this.connections, "backend").bindTo(registry);
	}

}
