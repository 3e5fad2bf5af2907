package lab.limits;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryManagerMXBean;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.ToIntFunction;

import com.sun.management.OperatingSystemMXBean;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.stereotype.Component;

/**
 * {@code GET /actuator/limits}: limits as read from the running server and JVM, whatever
 * the configuration may have asked for.
 */
@Component
@Endpoint(id = "limits")
class LimitsEndpoint {

	private final Server server;

	private final List<Pool> pools;

	LimitsEndpoint(Server server, ObjectProvider<Pool> pools) {
		this.server = server;
		this.pools = pools.stream().toList();
	}

	@ReadOperation
	Limits limits() {
		return new Limits(this.server.name(), this.server.version(), this.server.transport(),
				this.server.requestThreadsKind(), this.server.requestThreadsMax(), this.server.requestThreadsLive(),
				this.server.maxConnections(), this.server.acceptCount(), this.server.keepAliveRequests(),
				this.server.keepAliveTimeoutMs(), this.server.processorCache(), this.server.virtualThreadCarriersMax(),
				common(Pool::max), common(Pool::live), largest(),
				Runtime.getRuntime().maxMemory(), Runtime.getRuntime().availableProcessors(), garbageCollectors(),
				Runtime.version().toString(), Runtime.version().feature(),
				ManagementFactory.getRuntimeMXBean().getInputArguments(), processCpuSeconds(), ProcessHandle.current().pid());
	}

	/**
	 * What is the same of all pools of connections; null where they differ, or there is none.
	 */
	private @Nullable Integer common(ToIntFunction<Pool> property) {
		List<Integer> values = this.pools.stream().map(property::applyAsInt).distinct().toList();
		return (values.size() == 1) ? values.get(0) : null;
	}

	/**
	 * How many connections each pool opens at most, by what they lead to.
	 */
	private Map<String, Integer> largest() {
		Map<String, Integer> largest = new TreeMap<>();
		this.pools.forEach((pool) -> largest.put(pool.to(), pool.max()));
		return largest;
	}

	private List<String> garbageCollectors() {
		return ManagementFactory.getGarbageCollectorMXBeans().stream().map(MemoryManagerMXBean::getName).toList();
	}

	private double processCpuSeconds() {
		long nanos = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime();
		return nanos / (double) TimeUnit.SECONDS.toNanos(1);
	}

}
