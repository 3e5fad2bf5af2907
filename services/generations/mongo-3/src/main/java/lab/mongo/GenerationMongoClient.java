package lab.mongo;

import com.mongodb.MongoClientOptions;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * Has the client's pool watched, and its size fixed where that is asked for, up to driver 3.
 */
@Configuration
@ConditionalOnProperty("lab.mongo-uri")
class GenerationMongoClient {

	private static final int SERVER_SELECTION_TIMEOUT_MS = 5000;

	@Bean
	MongoClientOptions options(GenerationMongoPool watched, @Value("${lab.pool:#{null}}") Integer size,
			@Value("${lab.pool-wait-ms}") int waitMs) {
		MongoClientOptions.Builder options = MongoClientOptions.builder().addConnectionPoolListener(watched);
		if (size != null) {
			options.connectionsPerHost(size)
				.minConnectionsPerHost(size)
				.maxWaitTime(waitMs)
				.serverSelectionTimeout(SERVER_SELECTION_TIMEOUT_MS);
		}
		return options.build();
	}

}
