package lab.entity;

import java.util.List;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.domain.Sort;
import org.springframework.data.mongodb.core.MongoTemplate;
import org.springframework.data.mongodb.core.query.Criteria;
import org.springframework.data.mongodb.core.query.Query;
import org.springframework.stereotype.Component;

/**
 * By Spring Data's template.
 */
@Component
@ConditionalOnProperty(name = "lab.access", havingValue = "template")
class TemplateAccess implements EntityAccess {

	private final MongoTemplate mongo;

	TemplateAccess(MongoTemplate mongo) {
		this.mongo = mongo;
	}

	@Override
	public void add(Entity entity) {
		this.mongo.insert(entity);
	}

	@Override
	public void addMany(List<Entity> entities) {
		this.mongo.insertAll(entities);
	}

	@Override
	public @Nullable Entity get(String id) {
		return this.mongo.findById(id, Entity.class);
	}

	@Override
	public List<Entity> getMany(List<String> ids) {
		return this.mongo.find(Query.query(Criteria.where("id").in(ids)), Entity.class);
	}

	@Override
	public long update(String id, Content content) {
		Query query = Query.query(Criteria.where("id").is(id));
		return this.mongo.updateFirst(query, content.forTemplate(), Entity.class).getMatchedCount();
	}

	@Override
	public long updateMany(List<String> ids, Content content) {
		Query query = Query.query(Criteria.where("id").in(ids));
		return this.mongo.updateMulti(query, content.forTemplate(), Entity.class).getMatchedCount();
	}

	@Override
	public long updateByInteger(int integer, Content content) {
		Query query = Query.query(Criteria.where("integer").is(integer));
		return this.mongo.updateMulti(query, content.forTemplate(), Entity.class).getMatchedCount();
	}

	@Override
	public long remove(String id) {
		return this.mongo.remove(Query.query(Criteria.where("id").is(id)), Entity.class).getDeletedCount();
	}

	@Override
	public List<Entity> collect(Selection selection) {
		return this.mongo.find(selection.query(), Entity.class);
	}

	@Override
	public Stream<Entity> stream(Selection selection) {
		return this.mongo.stream(selection.query(), Entity.class);
	}

	@Override
	public List<Entity> page(Selection selection, int number) {
		PageRequest page = PageRequest.of(number, Selection.PAGE, Sort.by("id"));
		return this.mongo.find(selection.query().with(page), Entity.class);
	}

}
