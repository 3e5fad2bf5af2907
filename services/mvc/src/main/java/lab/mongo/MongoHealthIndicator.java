package lab.mongo;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.data.mongodb.core.MongoTemplate;
import org.springframework.stereotype.Component;

/**
 * Takes the place of Boot's own by its name: that one lists the server's databases and says
 * {@code hello} to each, which a stand-in for MongoDB may not understand, and a user of one
 * database may not be allowed.
 */
@Component
@ConditionalOnProperty("lab.mongo-uri")
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
