package lab.entity;

import java.util.List;

import com.mongodb.client.model.Filters;
import com.mongodb.client.model.Sorts;
import com.mongodb.client.result.DeleteResult;
import com.mongodb.client.result.UpdateResult;
import com.mongodb.reactivestreams.client.FindPublisher;
import com.mongodb.reactivestreams.client.MongoClient;
import com.mongodb.reactivestreams.client.MongoCollection;
import org.bson.Document;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/**
 * By MongoDB's own driver.
 */
@Component
@ConditionalOnProperty(name = "lab.access", havingValue = "driver")
class DriverAccess implements EntityAccess {

	private final MongoCollection<Document> entities;

	DriverAccess(MongoClient client) {
		this.entities = client.getDatabase(Entity.DATABASE).getCollection(Entity.COLLECTION);
	}

	@Override
	public Mono<Void> add(Entity entity) {
		return Mono.from(this.entities.insertOne(entity.toDocument())).then();
	}

	@Override
	public Mono<Void> addMany(List<Entity> entities) {
		return Mono.from(this.entities.insertMany(entities.stream().map(Entity::toDocument).toList())).then();
	}

	@Override
	public Mono<Entity> get(String id) {
		return Mono.from(this.entities.find(Filters.eq(id)).first()).map(Entity::of);
	}

	@Override
	public Mono<List<Entity>> getMany(List<String> ids) {
		return Flux.from(this.entities.find(Filters.in("_id", ids))).map(Entity::of).collectList();
	}

	@Override
	public Mono<Long> update(String id, Content content) {
		return Mono.from(this.entities.updateOne(Filters.eq(id), content.forDriver()))
			.map(UpdateResult::getMatchedCount);
	}

	@Override
	public Mono<Long> updateMany(List<String> ids, Content content) {
		return Mono.from(this.entities.updateMany(Filters.in("_id", ids), content.forDriver()))
			.map(UpdateResult::getMatchedCount);
	}

	@Override
	public Mono<Long> updateByInteger(int integer, Content content) {
		return Mono.from(this.entities.updateMany(Filters.eq("integer", integer), content.forDriver()))
			.map(UpdateResult::getMatchedCount);
	}

	@Override
	public Mono<Long> remove(String id) {
		return Mono.from(this.entities.deleteOne(Filters.eq(id))).map(DeleteResult::getDeletedCount);
	}

	@Override
	public Mono<List<Entity>> collect(Selection selection) {
		return stream(selection).collectList();
	}

	@Override
	public Flux<Entity> stream(Selection selection) {
		return Flux.from(find(selection)).map(Entity::of);
	}

	@Override
	public Mono<List<Entity>> page(Selection selection, int number) {
		return Flux
			.from(find(selection).sort(Sorts.ascending("_id"))
				.skip(number * Selection.PAGE)
				.limit(Selection.PAGE))
			.map(Entity::of)
			.collectList();
	}

	private FindPublisher<Document> find(Selection selection) {
		FindPublisher<Document> found = this.entities.find(selection.filter());
		return (selection.batch() > 0) ? found.batchSize(selection.batch()) : found;
	}

}
