package lab.mongo;

import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.data.mongodb.core.MongoTemplate;

class MongoHealthIndicator extends AbstractHealthIndicator {

	private final MongoTemplate mongo;

	MongoHealthIndicator(MongoTemplate mongo) {
		this.mongo = mongo;
	}

	@Override
	protected void doHealthCheck(Health.Builder builder) {
		this.mongo.executeCommand("{ ping: 1 }");
		builder.up();
	}

}
