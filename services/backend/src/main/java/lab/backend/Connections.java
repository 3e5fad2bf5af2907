package lab.backend;

import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;

import io.netty.channel.Channel;
import io.netty.channel.ChannelException;
import io.netty.channel.ChannelOption;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import org.jspecify.annotations.Nullable;
import reactor.netty.ConnectionObserver;

import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.stereotype.Component;

/**
 * The connections of those who call. While the service is to be dead, all of them are
 * reset, and so is each new one, as by the system of a process that was killed. The
 * management port goes on: factory customizers do not reach there.
 */
@Component
class Connections implements WebServerFactoryCustomizer<NettyReactiveWebServerFactory> {

	private final ChannelGroup open = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);

	private volatile Behaviour current = Behaviour.UNLIMITED;

	private volatile boolean dead;

	@Override
	public void customize(NettyReactiveWebServerFactory factory) {
		factory.addServerCustomizers((server) -> server.doOnChannelInit(this::opened));
	}

	private void opened(ConnectionObserver observer, Channel channel, @Nullable SocketAddress from) {
		this.open.add(channel);
		if (this.dead) {
			reset(channel);
		}
	}

	/**
	 * From now on only this behaviour decides.
	 */
	synchronized void follow(Behaviour behaviour) {
		this.current = behaviour;
		this.dead = false;
	}

	/**
	 * The time of a behaviour has begun.
	 */
	synchronized void begin(Behaviour behaviour) {
		Span dead = behaviour.dead();
		if (!dead.equals(Span.NEVER)) {
			after(dead.from().toMillis(), () -> die(behaviour));
			after(dead.from().plus(dead.length()).toMillis(), () -> live(behaviour));
		}
	}

	private synchronized void die(Behaviour behaviour) {
		if (this.current == behaviour) {
			this.dead = true;
			this.open.forEach(Connections::reset);
		}
	}

	private synchronized void live(Behaviour behaviour) {
		if (this.current == behaviour) {
			this.dead = false;
		}
	}

	private static void after(long millis, Runnable task) {
		GlobalEventExecutor.INSTANCE.schedule(task, millis, TimeUnit.MILLISECONDS);
	}

	private static void reset(Channel channel) {
		try {
			channel.config().setOption(ChannelOption.SO_LINGER, 0);
		}
		catch (ChannelException ex) {
			// It has been closed meanwhile.
		}
		channel.close();
	}

}
