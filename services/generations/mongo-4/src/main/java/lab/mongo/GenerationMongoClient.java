package lab.mongo;

import com.mongodb.MongoClientSettings;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.mongo.MongoClientSettingsBuilderCustomizer;
import org.springframework.stereotype.Component;

/**
 * Has each client's pool watched, and its size fixed where that is asked for, from driver 4 on.
 */
@Component
@ConditionalOnProperty("lab.mongo-uri")
class GenerationMongoClient implements MongoClientSettingsBuilderCustomizer {

	private final MongoPool watched;

	private final ObjectProvider<FixedMongoPool> fixed;

	GenerationMongoClient(MongoPool watched, ObjectProvider<FixedMongoPool> fixed) {
		this.watched = watched;
		this.fixed = fixed;
	}

	@Override
	public void customize(MongoClientSettings.Builder client) {
		this.watched.customize(client);
		this.fixed.ifAvailable((fixed) -> fixed.customize(client));
	}

}
