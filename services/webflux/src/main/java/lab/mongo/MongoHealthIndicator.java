package lab.mongo;

import reactor.core.publisher.Mono;

import org.springframework.boot.health.contributor.AbstractReactiveHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.data.mongodb.core.ReactiveMongoTemplate;

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
