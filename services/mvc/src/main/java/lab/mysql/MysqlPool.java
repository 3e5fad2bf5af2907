package lab.mysql;

import com.zaxxer.hikari.HikariDataSource;
import lab.limits.Pool;

class MysqlPool implements Pool {

	private final HikariDataSource connections;

	MysqlPool(HikariDataSource connections) {
		this.connections = connections;
	}

	@Override
	public int max() {
		return this.connections.getHikariConfigMXBean().getMaximumPoolSize();
	}

	@Override
	public int live() {
		return this.connections.getHikariPoolMXBean().getTotalConnections();
	}

}
