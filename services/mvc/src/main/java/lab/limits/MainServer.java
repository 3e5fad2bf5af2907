package lab.limits;

import java.lang.management.ManagementFactory;

import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.ObjectName;

import org.apache.catalina.connector.Connector;
import org.apache.catalina.util.ServerInfo;
import org.apache.coyote.http11.AbstractHttp11Protocol;
import org.apache.tomcat.util.threads.ThreadPoolExecutor;
import org.apache.tomcat.util.threads.VirtualThreadExecutor;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.stereotype.Component;

/**
 * The server that answers the application's requests, as opposed to the one for
 * management: factory customizers do not reach into the management context.
 */
@Component
class MainServer implements WebServerFactoryCustomizer<TomcatServletWebServerFactory> {

	private volatile Connector connector;

	@Override
	public void customize(TomcatServletWebServerFactory factory) {
		factory.addConnectorCustomizers((connector) -> this.connector = connector);
	}

	String name() {
		return "tomcat";
	}

	String version() {
		return ServerInfo.getServerNumber();
	}

	String transport() {
		return protocol().getClass().getSimpleName().replaceAll("^Http11|Protocol$", "").toLowerCase();
	}

	String requestThreadsKind() {
		return isVirtual() ? "virtual" : "platform";
	}

	@Nullable Integer requestThreadsMax() {
		return (protocol().getExecutor() instanceof ThreadPoolExecutor pool) ? pool.getMaximumPoolSize() : null;
	}

	@Nullable Integer requestThreadsLive() {
		return (protocol().getExecutor() instanceof ThreadPoolExecutor pool) ? pool.getPoolSize() : null;
	}

	@Nullable Integer maxConnections() {
		return unlessNegative(protocol().getMaxConnections());
	}

	@Nullable Integer acceptCount() {
		return Backlog.inForce(protocol().getAcceptCount());
	}

	@Nullable Integer keepAliveRequests() {
		return unlessNegative(protocol().getMaxKeepAliveRequests());
	}

	@Nullable Long keepAliveTimeoutMs() {
		int timeout = protocol().getKeepAliveTimeout();
		return (timeout < 0) ? null : (long) timeout;
	}

	@Nullable Integer virtualThreadCarriersMax() {
		if (!isVirtual()) {
			return null;
		}
		try {
			ObjectName scheduler = new ObjectName("jdk.management:type=VirtualThreadScheduler");
			return (Integer) ManagementFactory.getPlatformMBeanServer().getAttribute(scheduler, "Parallelism");
		}
		catch (InstanceNotFoundException ex) {
			return null; // before Java 24
		}
		catch (JMException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private boolean isVirtual() {
		return protocol().getExecutor() instanceof VirtualThreadExecutor;
	}

	private AbstractHttp11Protocol<?> protocol() {
		return (AbstractHttp11Protocol<?>) this.connector.getProtocolHandler();
	}

	private static @Nullable Integer unlessNegative(int limit) {
		return (limit < 0) ? null : limit;
	}

}
