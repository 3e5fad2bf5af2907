package lab.entity;

import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.data.domain.Pageable;
import org.springframework.data.mongodb.repository.Meta;
import org.springframework.data.mongodb.repository.ReactiveMongoRepository;

/**
 * Without a batch's size in their names, methods leave it to the driver.
 */
interface EntityRepository extends ReactiveMongoRepository<Entity, String> {

	/**
	 * Unlike {@code deleteById}, it says how many it has removed.
	 */
	Mono<Long> removeById(String id);

	Flux<Entity> findByInteger(int integer);

	@Meta(cursorBatchSize = 100)
	Flux<Entity> streamBatchesOf100By();

	@Meta(cursorBatchSize = 100)
	Flux<Entity> streamBatchesOf100ByInteger(int integer);

	@Meta(cursorBatchSize = 1000)
	Flux<Entity> streamBatchesOf1000By();

	@Meta(cursorBatchSize = 1000)
	Flux<Entity> streamBatchesOf1000ByInteger(int integer);

	Flux<Entity> findBy(Pageable page);

	Flux<Entity> findByInteger(int integer, Pageable page);

	@Meta(cursorBatchSize = 100)
	Flux<Entity> findBatchesOf100By(Pageable page);

	@Meta(cursorBatchSize = 100)
	Flux<Entity> findBatchesOf100ByInteger(int integer, Pageable page);

	@Meta(cursorBatchSize = 1000)
	Flux<Entity> findBatchesOf1000By(Pageable page);

	@Meta(cursorBatchSize = 1000)
	Flux<Entity> findBatchesOf1000ByInteger(int integer, Pageable page);

}
