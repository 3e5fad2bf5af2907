package lab.chain;

import java.time.Duration;

import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.http.client.autoconfigure.reactive.ClientHttpConnectorBuilderCustomizer;
import org.springframework.boot.http.client.reactive.ReactorClientHttpConnectorBuilder;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Component;

/**
 * A pool of one size, whose connections live as long as the process, and a client that
 * sends each request once, and nothing that the other one does not. Boot has no properties
 * for either. The connection that came back last is used next, as Apache's client does.
 */
@Component
@Profile("fixed-pool")
@ConditionalOnProperty("lab.backend-url")
class FixedBackendPool implements ClientHttpConnectorBuilderCustomizer<ReactorClientHttpConnectorBuilder> {

	private static final int ANY_NUMBER = -1;

	private final ConnectionProvider connections;

	FixedBackendPool(@Value("${lab.pool}") int size, @Value("${lab.pool-wait-ms}") long waitMs) {
		this.connections = ConnectionProvider.builder("backend")
			.maxConnections(size)
			.pendingAcquireTimeout(Duration.ofMillis(waitMs))
			.pendingAcquireMaxCount(ANY_NUMBER)
			.lifo()
			.metrics(true)
			.build();
	}

	@Override
	public ReactorClientHttpConnectorBuilder customize(ReactorClientHttpConnectorBuilder builder) {
		return builder.withHttpClientFactory(() -> HttpClient.create(this.connections))
			.withHttpClientCustomizer((client) -> client.disableRetry(true).compress(false));
	}

}
