package lab.entity;

import java.util.List;

import com.mongodb.client.result.DeleteResult;
import com.mongodb.client.result.UpdateResult;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.domain.Sort;
import org.springframework.data.mongodb.core.ReactiveMongoTemplate;
import org.springframework.data.mongodb.core.query.Criteria;
import org.springframework.data.mongodb.core.query.Query;
import org.springframework.stereotype.Component;

/**
 * By Spring Data's template.
 */
@Component
@ConditionalOnProperty(name = "lab.access", havingValue = "template")
class TemplateAccess implements EntityAccess {

	private final ReactiveMongoTemplate mongo;

	TemplateAccess(ReactiveMongoTemplate mongo) {
		this.mongo = mongo;
	}

	@Override
	public Mono<Void> add(Entity entity) {
		return this.mongo.insert(entity).then();
	}

	@Override
	public Mono<Void> addMany(List<Entity> entities) {
		return this.mongo.insertAll(entities).then();
	}

	@Override
	public Mono<Entity> get(String id) {
		return this.mongo.findById(id, Entity.class);
	}

	@Override
	public Mono<List<Entity>> getMany(List<String> ids) {
		return this.mongo.find(Query.query(Criteria.where("id").in(ids)), Entity.class).collectList();
	}

	@Override
	public Mono<Long> update(String id, Content content) {
		Query query = Query.query(Criteria.where("id").is(id));
		return this.mongo.updateFirst(query, content.forTemplate(), Entity.class).map(UpdateResult::getMatchedCount);
	}

	@Override
	public Mono<Long> updateMany(List<String> ids, Content content) {
		Query query = Query.query(Criteria.where("id").in(ids));
		return this.mongo.updateMulti(query, content.forTemplate(), Entity.class).map(UpdateResult::getMatchedCount);
	}

	@Override
	public Mono<Long> updateByInteger(int integer, Content content) {
		Query query = Query.query(Criteria.where("integer").is(integer));
		return this.mongo.updateMulti(query, content.forTemplate(), Entity.class).map(UpdateResult::getMatchedCount);
	}

	@Override
	public Mono<Long> remove(String id) {
		return this.mongo.remove(Query.query(Criteria.where("id").is(id)), Entity.class)
			.map(DeleteResult::getDeletedCount);
	}

	@Override
	public Mono<List<Entity>> collect(Selection selection) {
		return stream(selection).collectList();
	}

	@Override
	public Flux<Entity> stream(Selection selection) {
		return this.mongo.find(selection.query(), Entity.class);
	}

	@Override
	public Mono<List<Entity>> page(Selection selection, int number) {
		PageRequest page = PageRequest.of(number, Selection.PAGE, Sort.by("id"));
		return this.mongo.find(selection.query().with(page), Entity.class).collectList();
	}

}
