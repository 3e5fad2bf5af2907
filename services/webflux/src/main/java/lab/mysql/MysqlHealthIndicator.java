package lab.mysql;

import reactor.core.publisher.Mono;

import org.springframework.boot.health.contributor.AbstractReactiveHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.r2dbc.core.DatabaseClient;

class MysqlHealthIndicator extends AbstractReactiveHealthIndicator {

	private final DatabaseClient database;

	MysqlHealthIndicator(DatabaseClient database) {
		this.database = database;
	}

	@Override
	protected Mono<Health> doHealthCheck(Health.Builder builder) {
		return this.database.sql("SELECT 1").fetch().one().thenReturn(builder.up().build());
	}

}
