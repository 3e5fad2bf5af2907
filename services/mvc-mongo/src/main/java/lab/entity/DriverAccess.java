package lab.entity;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Spliterators;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

import com.mongodb.client.FindIterable;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoCursor;
import com.mongodb.client.model.Filters;
import com.mongodb.client.model.Sorts;
import org.bson.Document;
import org.jspecify.annotations.Nullable;

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
	public void add(Entity entity) {
		this.entities.insertOne(entity.toDocument());
	}

	@Override
	public void addMany(List<Entity> entities) {
		this.entities.insertMany(entities.stream().map(Entity::toDocument).toList());
	}

	@Override
	public @Nullable Entity get(String id) {
		return Optional.ofNullable(this.entities.find(Filters.eq(id)).first()).map(Entity::of).orElse(null);
	}

	@Override
	public List<Entity> getMany(List<String> ids) {
		return this.entities.find(Filters.in("_id", ids)).map(Entity::of).into(new ArrayList<>());
	}

	@Override
	public long update(String id, Content content) {
		return this.entities.updateOne(Filters.eq(id), content.forDriver()).getMatchedCount();
	}

	@Override
	public long updateMany(List<String> ids, Content content) {
		return this.entities.updateMany(Filters.in("_id", ids), content.forDriver()).getMatchedCount();
	}

	@Override
	public long updateByInteger(int integer, Content content) {
		return this.entities.updateMany(Filters.eq("integer", integer), content.forDriver()).getMatchedCount();
	}

	@Override
	public long remove(String id) {
		return this.entities.deleteOne(Filters.eq(id)).getDeletedCount();
	}

	@Override
	public List<Entity> collect(Selection selection) {
		return find(selection).map(Entity::of).into(new ArrayList<>());
	}

	@Override
	public Stream<Entity> stream(Selection selection) {
		MongoCursor<Entity> cursor = find(selection).map(Entity::of).cursor();
		return StreamSupport.stream(Spliterators.spliteratorUnknownSize(cursor, 0), false).onClose(cursor::close);
	}

	@Override
	public List<Entity> page(Selection selection, int number) {
		return find(selection).sort(Sorts.ascending("_id"))
			.skip(number * Selection.PAGE)
			.limit(Selection.PAGE)
			.map(Entity::of)
			.into(new ArrayList<>());
	}

	private FindIterable<Document> find(Selection selection) {
		FindIterable<Document> found = this.entities.find(selection.filter());
		return (selection.batch() > 0) ? found.batchSize(selection.batch()) : found;
	}

}
