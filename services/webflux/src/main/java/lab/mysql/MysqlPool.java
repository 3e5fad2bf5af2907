package lab.mysql;

import io.r2dbc.pool.ConnectionPool;
import io.r2dbc.pool.PoolMetrics;
import lab.limits.Pool;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

@Component
@ConditionalOnProperty("lab.mysql-host")
class MysqlPool implements Pool {

	private final PoolMetrics connections;

	MysqlPool(ConnectionPool connections) {
		this.connections = connections.getMetrics().orElseThrow();
	}

	@Override
	public String to() {
		return "mysql";
	}

	@Override
	public int max() {
		return this.connections.getMaxAllocatedSize();
	}

	@Override
	public int live() {
		return this.connections.allocatedSize();
	}

}
