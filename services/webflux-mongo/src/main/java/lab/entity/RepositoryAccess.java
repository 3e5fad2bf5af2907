package lab.entity;

import java.util.List;

import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.domain.Sort;
import org.springframework.stereotype.Component;

/**
 * By a repository of Spring Data, which updates what it has found by saving it.
 */
@Component
@ConditionalOnProperty(name = "lab.access", havingValue = "repository")
class RepositoryAccess implements EntityAccess {

	private final EntityRepository entities;

	RepositoryAccess(EntityRepository entities) {
		this.entities = entities;
	}

	@Override
	public Mono<Void> add(Entity entity) {
		return this.entities.insert(entity).then();
	}

	@Override
	public Mono<Void> addMany(List<Entity> entities) {
		return this.entities.insert(entities).then();
	}

	@Override
	public Mono<Entity> get(String id) {
		return this.entities.findById(id);
	}

	@Override
	public Mono<List<Entity>> getMany(List<String> ids) {
		return this.entities.findAllById(ids).collectList();
	}

	@Override
	public Mono<Long> update(String id, Content content) {
		return this.entities.findById(id).flatMap((found) -> this.entities.save(found.with(content))).flux().count();
	}

	@Override
	public Mono<Long> updateMany(List<String> ids, Content content) {
		return saveAll(this.entities.findAllById(ids), content);
	}

	@Override
	public Mono<Long> updateByInteger(int integer, Content content) {
		return saveAll(this.entities.findByInteger(integer), content);
	}

	private Mono<Long> saveAll(Flux<Entity> found, Content content) {
		return found.map((entity) -> entity.with(content))
			.collectList()
			.flatMap((entities) -> this.entities.saveAll(entities).count());
	}

	@Override
	public Mono<Long> remove(String id) {
		return this.entities.removeById(id);
	}

	@Override
	public Mono<List<Entity>> collect(Selection selection) {
		return stream(selection).collectList();
	}

	@Override
	public Flux<Entity> stream(Selection selection) {
		Integer integer = selection.integer();
		return switch (selection.batch()) {
			case 100 -> (integer != null) ? this.entities.streamBatchesOf100ByInteger(integer)
					: this.entities.streamBatchesOf100By();
			case 1000 -> (integer != null) ? this.entities.streamBatchesOf1000ByInteger(integer)
					: this.entities.streamBatchesOf1000By();
			default -> (integer != null) ? this.entities.findByInteger(integer) : this.entities.findAll();
		};
	}

	@Override
	public Mono<List<Entity>> page(Selection selection, int number) {
		PageRequest page = PageRequest.of(number, Selection.PAGE, Sort.by("id"));
		Integer integer = selection.integer();
		Flux<Entity> found = switch (selection.batch()) {
			case 100 -> (integer != null) ? this.entities.findBatchesOf100ByInteger(integer, page)
					: this.entities.findBatchesOf100By(page);
			case 1000 -> (integer != null) ? this.entities.findBatchesOf1000ByInteger(integer, page)
					: this.entities.findBatchesOf1000By(page);
			default -> (integer != null) ? this.entities.findByInteger(integer, page) : this.entities.findBy(page);
		};
		return found.collectList();
	}

}
