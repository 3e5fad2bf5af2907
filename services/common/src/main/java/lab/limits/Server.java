package lab.limits;

import org.jspecify.annotations.Nullable;

/**
 * What a server that answers requests can be asked about its limits. Where a limit may be
 * absent, {@code null} says so.
 */
interface Server {

	String name();

	String version();

	String transport();

	String requestThreadsKind();

	@Nullable Integer requestThreadsMax();

	@Nullable Integer requestThreadsLive();

	@Nullable Integer maxConnections();

	@Nullable Integer acceptCount();

	@Nullable Integer keepAliveRequests();

	@Nullable Long keepAliveTimeoutMs();

	/**
	 * How many of the objects that a request in flight needs are kept for the next ones.
	 */
	@Nullable Integer processorCache();

	@Nullable Integer virtualThreadCarriersMax();

}
