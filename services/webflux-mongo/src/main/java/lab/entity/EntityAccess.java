package lab.entity;

import java.util.List;

import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * A way to reach the entities: {@code lab.access} says which.
 */
interface EntityAccess {

	Mono<Void> add(Entity entity);

	Mono<Void> addMany(List<Entity> entities);

	Mono<Entity> get(String id);

	Mono<List<Entity>> getMany(List<String> ids);

	/**
	 * @return how many entities have that key
	 */
	Mono<Long> update(String id, Content content);

	Mono<Long> updateMany(List<String> ids, Content content);

	Mono<Long> updateByInteger(int integer, Content content);

	/**
	 * @return how many entities had that key
	 */
	Mono<Long> remove(String id);

	/**
	 * The entities as one list, fetched batch by batch.
	 */
	Mono<List<Entity>> collect(Selection selection);

	/**
	 * The entities as they come, batch by batch.
	 */
	Flux<Entity> stream(Selection selection);

	/**
	 * One of the pages into which the entities are cut, sorted by their keys.
	 */
	Mono<List<Entity>> page(Selection selection, int number);

}
