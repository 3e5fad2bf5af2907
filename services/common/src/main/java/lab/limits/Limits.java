package lab.limits;

import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.annotation.JsonInclude;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;

/**
 * What this process is held to. Where a limit may be absent, {@code null} says so.
 */
@JsonInclude(JsonInclude.Include.ALWAYS)
@JsonNaming(SnakeCaseStrategy.class)
record Limits(String server, String serverVersion, String transport, String requestThreadsKind,
		@Nullable Integer requestThreadsMax, @Nullable Integer requestThreadsLive, @Nullable Integer maxConnections,
		@Nullable Integer acceptCount, @Nullable Integer keepAliveRequests, @Nullable Long keepAliveTimeoutMs,
		@Nullable Integer processorCache, @Nullable Integer virtualThreadCarriersMax, @Nullable Integer poolMax,
		@Nullable Integer poolLive, Map<String, Integer> pools, long heapMaxBytes, int cpus, List<String> gc, String java,
		int javaRelease, List<String> jvmArguments, double processCpuS, long pid) {
}
