package lab.mongo;

import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.health.contributor.AbstractReactiveHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.data.mongodb.core.ReactiveMongoTemplate;
import org.springframework.stereotype.Component;

/**
 * Takes the place of Boot's own by its name: that one lists the server's databases and says
 * {@code hello} to each, which a stand-in for MongoDB may not understand, and a user of one
 * database may not be allowed.
 */
@Component
@ConditionalOnProperty("lab.mongo-uri")
class MongoHealthIndicator extends AbstractReactiveHealthIndicator {

	private final ReactiveMongoTemplate mongo;

	MongoHealthIndicator(ReactiveMongoTemplate mongo) {
		this.mongo = mongo;
	}

	@Override
	protected Mono<Health> doHealthCheck(Health.Builder builder) {
		return this.mongo.executeCommand("{ ping: 1 }").thenReturn(builder.up().build());
	}

}
