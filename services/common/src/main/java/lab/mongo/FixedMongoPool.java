package lab.mongo;

import java.util.concurrent.TimeUnit;

import com.mongodb.MongoClientSettings;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Component;

/**
 * A pool that is full from the start, as that of the other database is, instead of one
 * that grows while it is measured. Boot has no properties for it, and the URI, which has
 * options, may be one of the user's.
 */
@Component
@Profile("fixed-pool")
@ConditionalOnProperty("lab.mongo-uri")
class FixedMongoPool {

	/**
	 * A database that is gone is to be an error of the load, not a load that stands still for
	 * the driver's 30 seconds.
	 */
	private static final int SERVER_SELECTION_TIMEOUT_S = 5;

	private final int size;

	private final long waitMs;

	FixedMongoPool(@Value("${lab.pool}") int size, @Value("${lab.pool-wait-ms}") long waitMs) {
		this.size = size;
		this.waitMs = waitMs;
	}

	void customize(MongoClientSettings.Builder client) {
		client
			.applyToClusterSettings(
					(cluster) -> cluster.serverSelectionTimeout(SERVER_SELECTION_TIMEOUT_S, TimeUnit.SECONDS))
			.applyToConnectionPoolSettings((pool) -> pool.minSize(this.size)
				.maxSize(this.size)
				.maxConnecting(this.size)
				.maxWaitTime(this.waitMs, TimeUnit.MILLISECONDS));
	}

}
