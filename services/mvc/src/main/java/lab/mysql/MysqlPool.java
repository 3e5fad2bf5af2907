package lab.mysql;

import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.HikariPoolMXBean;
import lab.limits.Pool;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

@Component
@ConditionalOnProperty("lab.mysql-host")
class MysqlPool implements Pool {

	private final HikariDataSource connections;

	MysqlPool(HikariDataSource connections) {
		this.connections = connections;
	}

	@Override
	public String to() {
		return "mysql";
	}

	@Override
	public int max() {
		return this.connections.getMaximumPoolSize();
	}

	@Override
	public int live() {
		HikariPoolMXBean pool = this.connections.getHikariPoolMXBean();
		return (pool != null) ? pool.getTotalConnections() : 0; // it starts with the first request
	}

}
