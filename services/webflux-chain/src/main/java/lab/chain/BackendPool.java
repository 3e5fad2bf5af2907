package lab.chain;

import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import lab.limits.Pool;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.http.client.autoconfigure.reactive.ClientHttpConnectorBuilderCustomizer;
import org.springframework.boot.http.client.reactive.ReactorClientHttpConnectorBuilder;
import org.springframework.stereotype.Component;

/**
 * Counts open connections itself, since the pool tells of them by metrics only, and Boot's
 * own has none.
 */
@Component
@ConditionalOnProperty("lab.backend-url")
class BackendPool implements ClientHttpConnectorBuilderCustomizer<ReactorClientHttpConnectorBuilder>, Pool {

	private final ChannelGroup open = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);

	private volatile ConnectionProvider connections;

	@Override
	public ReactorClientHttpConnectorBuilder customize(ReactorClientHttpConnectorBuilder builder) {
		return builder.withHttpClientCustomizer(this::customize);
	}

	private HttpClient customize(HttpClient client) {
		this.connections = client.configuration().connectionProvider();
		return client.channelGroup(this.open);
	}

	@Override
	public String to() {
		return "backend";
	}

	@Override
	public int max() {
		return this.connections.maxConnections();
	}

	@Override
	public int live() {
		return this.open.size();
	}

}
