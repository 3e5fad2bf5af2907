package lab.limits;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.concurrent.Executor;

import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.ObjectName;

import org.apache.catalina.Context;
import org.apache.catalina.Pipeline;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.core.StandardHost;
import org.apache.catalina.util.ServerInfo;
import org.apache.catalina.valves.ErrorReportValve;
import org.apache.coyote.http11.AbstractHttp11Protocol;
import org.apache.tomcat.util.threads.ThreadPoolExecutor;
import org.jspecify.annotations.Nullable;

import org.springframework.stereotype.Component;

/**
 * The server that answers the application's requests, as opposed to the one for
 * management.
 */
@Component
class MainServer implements Server {

	private static final String VIRTUAL = "VirtualThreadExecutor"; // which older generations of Tomcat do not have

	private volatile Connector connector;

	void customize(Connector connector) {
		this.connector = connector;
		protocol().setMaxHeaderCount(-1); // their size is limited, as it is by Netty
	}

	void customize(Context context) {
		StandardHost host = (StandardHost) context.getParent();
		Pipeline valves = host.getPipeline();
		Arrays.stream(valves.getValves()).filter(ErrorReportValve.class::isInstance).forEach(valves::removeValve);
		valves.addValve(new Refusals());
		host.setErrorReportValveClass(null);
	}

	@Override
	public String name() {
		return "tomcat";
	}

	@Override
	public String version() {
		return ServerInfo.getServerNumber();
	}

	@Override
	public String transport() {
		return protocol().getClass().getSimpleName().replaceAll("^Http11|Protocol$", "").toLowerCase();
	}

	@Override
	public String requestThreadsKind() {
		return isVirtual() ? "virtual" : "platform";
	}

	@Override
	public @Nullable Integer requestThreadsMax() {
		return (threads() != null) ? threads().getMaximumPoolSize() : null;
	}

	@Override
	public @Nullable Integer requestThreadsLive() {
		return (threads() != null) ? threads().getPoolSize() : null;
	}

	int requestThreadsBusy() {
		return (threads() != null) ? threads().getActiveCount() : 0;
	}

	long connections() {
		return protocol().getConnectionCount();
	}

	@Override
	public @Nullable Integer maxConnections() {
		return unlessNegative(protocol().getMaxConnections());
	}

	@Override
	public @Nullable Integer acceptCount() {
		return Backlog.inForce(protocol().getAcceptCount());
	}

	@Override
	public @Nullable Integer keepAliveRequests() {
		return unlessNegative(protocol().getMaxKeepAliveRequests());
	}

	@Override
	public @Nullable Long keepAliveTimeoutMs() {
		int timeout = protocol().getKeepAliveTimeout();
		return (timeout < 0) ? null : (long) timeout;
	}

	@Override
	public @Nullable Integer processorCache() {
		return unlessNegative(protocol().getProcessorCache());
	}

	@Override
	public @Nullable Integer virtualThreadCarriersMax() {
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

	boolean isVirtual() {
		Executor executor = protocol().getExecutor();
		return executor != null && executor.getClass().getSimpleName().equals(VIRTUAL);
	}

	private @Nullable ThreadPoolExecutor threads() {
		Executor executor = protocol().getExecutor();
		return (executor instanceof ThreadPoolExecutor) ? (ThreadPoolExecutor) executor : null;
	}

	private AbstractHttp11Protocol<?> protocol() {
		return (AbstractHttp11Protocol<?>) this.connector.getProtocolHandler();
	}

	private static @Nullable Integer unlessNegative(int limit) {
		return (limit < 0) ? null : limit;
	}

}
