package lab.mysql;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.r2dbc.pool.ConnectionPool;
import io.r2dbc.pool.PoolMetrics;
import lab.limits.Pool;

class MysqlPool implements Pool, MeterBinder {

	private final PoolMetrics connections;

	MysqlPool(ConnectionPool connections) {
		this.connections = connections.getMetrics().orElseThrow();
	}

	@Override
	public int max() {
		return this.connections.getMaxAllocatedSize();
	}

	@Override
	public int live() {
		return this.connections.allocatedSize();
	}

	@Override
	public void bindTo(MeterRegistry meters) {
		Gauge.builder("r2dbc.pool.allocated", this.connections, PoolMetrics::allocatedSize).register(meters);
		Gauge.builder("r2dbc.pool.acquired", this.connections, PoolMetrics::acquiredSize).register(meters);
		Gauge.builder("r2dbc.pool.idle", this.connections, PoolMetrics::idleSize).register(meters);
		Gauge.builder("r2dbc.pool.pending", this.connections, PoolMetrics::pendingAcquireSize).register(meters);
		Gauge.builder("r2dbc.pool.max.allocated", this.connections, PoolMetrics::getMaxAllocatedSize).register(meters);
	}

}
