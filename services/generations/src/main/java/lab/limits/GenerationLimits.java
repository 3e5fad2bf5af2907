package lab.limits;

import java.lang.management.ManagementFactory;
import java.lang.management.MemoryManagerMXBean;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

import com.sun.management.OperatingSystemMXBean;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.stereotype.Component;

/**
 * What the current generation's endpoint of limits says, by the same names.
 */
@Component
class GenerationLimits {

	private final Server server;

	private final Pool pool;

	GenerationLimits(Server server, ObjectProvider<Pool> pools) {
		this.server = server;
		this.pool = pools.getIfUnique();
	}

	Map<String, Object> limits() {
		Map<String, Object> limits = new LinkedHashMap<>();
		limits.put("server", this.server.name());
		limits.put("server_version", this.server.version());
		limits.put("transport", this.server.transport());
		limits.put("request_threads_kind", this.server.requestThreadsKind());
		limits.put("request_threads_max", this.server.requestThreadsMax());
		limits.put("request_threads_live", this.server.requestThreadsLive());
		limits.put("max_connections", this.server.maxConnections());
		limits.put("accept_count", this.server.acceptCount());
		limits.put("keep_alive_requests", this.server.keepAliveRequests());
		limits.put("keep_alive_timeout_ms", this.server.keepAliveTimeoutMs());
		limits.put("processor_cache", this.server.processorCache());
		limits.put("virtual_thread_carriers_max", this.server.virtualThreadCarriersMax());
		limits.put("pool_max", (this.pool != null) ? this.pool.max() : null);
		limits.put("pool_live", (this.pool != null) ? this.pool.live() : null);
		limits.put("pools", (this.pool != null) ? Map.of(this.pool.to(), this.pool.max()) : Map.of());
		limits.putAll(ofTheJvm());
		return limits;
	}

	private static Map<String, Object> ofTheJvm() {
		Map<String, Object> limits = new LinkedHashMap<>();
		limits.put("heap_max_bytes", Runtime.getRuntime().maxMemory());
		limits.put("cpus", Runtime.getRuntime().availableProcessors());
		limits.put("gc", ManagementFactory.getGarbageCollectorMXBeans()
			.stream()
			.map(MemoryManagerMXBean::getName)
			.collect(Collectors.toList()));
		limits.put("java", Runtime.version().toString());
		limits.put("java_release", Runtime.version().feature());
		limits.put("jvm_arguments", ManagementFactory.getRuntimeMXBean().getInputArguments());
		long nanos = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime();
		limits.put("process_cpu_s", nanos / (double) TimeUnit.SECONDS.toNanos(1));
		limits.put("pid", ProcessHandle.current().pid());
		return limits;
	}

}
