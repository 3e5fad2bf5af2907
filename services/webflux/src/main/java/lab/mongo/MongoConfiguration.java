package lab.mongo;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

import com.mongodb.connection.TransportSettings;
import com.mongodb.reactivestreams.client.MongoClient;
import com.mongodb.reactivestreams.client.MongoClients;
import com.mongodb.ConnectionString;
import com.mongodb.connection.ConnectionPoolSettings;
import com.mongodb.MongoClientSettings;
import io.micrometer.core.instrument.binder.mongodb.MongoMetricsConnectionPoolListener;
import io.micrometer.core.instrument.MeterRegistry;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.mongodb.core.ReactiveMongoTemplate;

/**
 * A pool that is full from the start, where {@code lab.mongo-uri} names a server. Without
 * {@code lab.pool} the pool has the size that it has by itself.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnProperty("lab.mongo-uri")
class MongoConfiguration {

	@Bean
	MongoPool mongoPool() {
		return new MongoPool();
	}

	@Bean
	MongoClient mongoClient(@Value("${lab.mongo-uri}") ConnectionString uri,
			@Value("${lab.pool:#{null}}") @Nullable Integer size, @Value("${lab.pool-wait}") Duration wait,
			MongoPool pool, MeterRegistry meters) {
		return MongoClients.create(MongoClientSettings.builder()
			.applyConnectionString(uri)
			.transportSettings(TransportSettings.nettyBuilder().build())
			.applyToClusterSettings((cluster) -> cluster.serverSelectionTimeout(5, TimeUnit.SECONDS))
			.applyToConnectionPoolSettings((settings) -> fill(settings, size)
				.maxWaitTime(wait.toMillis(), TimeUnit.MILLISECONDS)
				.addConnectionPoolListener(pool)
				.addConnectionPoolListener(new MongoMetricsConnectionPoolListener(meters)))
			.build());
	}

	@Bean
	ReactiveMongoTemplate mongoTemplate(MongoClient client, @Value("${lab.mongo-uri}") ConnectionString uri) {
		return new ReactiveMongoTemplate(client, uri.getDatabase());
	}

	@Bean
	MongoHealthIndicator mongoHealthIndicator(ReactiveMongoTemplate mongo) {
		return new MongoHealthIndicator(mongo);
	}

	private static ConnectionPoolSettings.Builder fill(ConnectionPoolSettings.Builder settings,
			@Nullable Integer size) {
		return (size != null) ? settings.minSize(size).maxSize(size).maxConnecting(size) : settings;
	}

}
