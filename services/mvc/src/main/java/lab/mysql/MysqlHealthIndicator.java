package lab.mysql;

import com.zaxxer.hikari.HikariDataSource;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.jdbc.health.DataSourceHealthIndicator;
import org.springframework.stereotype.Component;

/**
 * Takes the place of Boot's own by its name, since that one would wait for a connection as
 * long as a request does: a pool that has lost all of them says so at once.
 */
@Component("dbHealthIndicator")
@ConditionalOnProperty("lab.mysql-host")
class MysqlHealthIndicator extends DataSourceHealthIndicator {

	private final HikariDataSource connections;

	MysqlHealthIndicator(HikariDataSource connections) {
		super(connections);
		this.connections = connections;
	}

	@Override
	protected void doHealthCheck(Health.Builder builder) throws Exception {
		if (this.connections.isRunning() && this.connections.getHikariPoolMXBean().getTotalConnections() == 0) {
			builder.down();
			return;
		}
		super.doHealthCheck(builder);
	}

}
