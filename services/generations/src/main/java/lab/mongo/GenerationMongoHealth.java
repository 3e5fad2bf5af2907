package lab.mongo;

import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.data.mongodb.core.MongoTemplate;
import org.springframework.stereotype.Component;

/**
 * Takes the place of Boot's own, as in the current generation: a stand-in for MongoDB may
 * not understand what that one says.
 */
@Component("mongoHealthIndicator")
@ConditionalOnProperty("lab.mongo-uri")
class GenerationMongoHealth extends AbstractHealthIndicator {

	private final MongoTemplate mongo;

	GenerationMongoHealth(MongoTemplate mongo) {
		this.mongo = mongo;
	}

	@Override
	protected void doHealthCheck(Health.Builder builder) {
		this.mongo.executeCommand("{ ping: 1 }");
		builder.up();
	}

}
