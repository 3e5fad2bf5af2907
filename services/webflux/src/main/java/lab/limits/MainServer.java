package lab.limits;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.stream.StreamSupport;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import org.jspecify.annotations.Nullable;
import reactor.netty.http.server.HttpServer;
import reactor.netty.http.server.HttpServerConfig;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.stereotype.Component;

/**
 * The server that answers the application's requests, as opposed to the one for
 * management: factory customizers do not reach into the management context.
 */
@Component
class MainServer implements WebServerFactoryCustomizer<NettyReactiveWebServerFactory>, Server {

	private final @Nullable Integer requestedAcceptCount;

	private volatile HttpServerConfig config;

	private volatile Channel channel;

	MainServer(@Value("${lab.accept-count:#{null}}") @Nullable Integer acceptCount) {
		this.requestedAcceptCount = acceptCount;
	}

	@Override
	public void customize(NettyReactiveWebServerFactory factory) {
		factory.addServerCustomizers(this::customize);
	}

	private HttpServer customize(HttpServer server) {
		if (this.requestedAcceptCount != null) {
			server = server.option(ChannelOption.SO_BACKLOG, this.requestedAcceptCount);
		}
		return server.doOnBind((config) -> this.config = config).doOnBound((bound) -> this.channel = bound.channel());
	}

	@Override
	public String name() {
		return "netty";
	}

	@Override
	public String version() {
		return "%s, Reactor Netty %s".formatted(Channel.class.getPackage().getImplementationVersion(),
				HttpServer.class.getPackage().getImplementationVersion());
	}

	@Override
	public String transport() {
		return this.channel.getClass().getSimpleName().replaceAll("ServerSocketChannel$", "").toLowerCase();
	}

	@Override
	public String requestThreadsKind() {
		return "event-loop";
	}

	@Override
	public @Nullable Integer requestThreadsMax() {
		EventLoopGroup eventLoops = this.config.loopResources().onServer(this.config.isPreferNative());
		return (int) StreamSupport.stream(eventLoops.spliterator(), false).count();
	}

	@Override
	public @Nullable Integer requestThreadsLive() {
		ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		return (int) Arrays.stream(threads.getThreadInfo(threads.getAllThreadIds()))
			.filter(Objects::nonNull)
			.filter((thread) -> thread.getThreadName().startsWith("reactor-http-"))
			.count();
	}

	@Override
	public @Nullable Integer maxConnections() {
		return null;
	}

	@Override
	public @Nullable Integer acceptCount() {
		return Backlog.inForce(this.channel.config().getOption(ChannelOption.SO_BACKLOG));
	}

	@Override
	public @Nullable Integer keepAliveRequests() {
		return unlessNegative(this.config.maxKeepAliveRequests());
	}

	@Override
	public @Nullable Long keepAliveTimeoutMs() {
		Duration timeout = this.config.idleTimeout();
		return (timeout == null) ? null : timeout.toMillis();
	}

	@Override
	public @Nullable Integer processorCache() {
		return null;
	}

	@Override
	public @Nullable Integer virtualThreadCarriersMax() {
		return null;
	}

	private static @Nullable Integer unlessNegative(int limit) {
		return (limit < 0) ? null : limit;
	}

}
