package lab.mysql;

import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.jdbc.core.simple.JdbcClient;

class MysqlHealthIndicator extends AbstractHealthIndicator {

	private final JdbcClient database;

	private final MysqlPool pool;

	MysqlHealthIndicator(JdbcClient database, MysqlPool pool) {
		this.database = database;
		this.pool = pool;
	}

	@Override
	protected void doHealthCheck(Health.Builder builder) {
		if (this.pool.live() == 0) {
			builder.down(); // a query would wait for a connection as long as a request does
			return;
		}
		this.database.sql("SELECT 1").query().singleValue();
		builder.up();
	}

}
