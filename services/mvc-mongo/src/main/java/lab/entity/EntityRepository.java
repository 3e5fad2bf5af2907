package lab.entity;

import java.util.List;
import java.util.stream.Stream;

import org.springframework.data.domain.Pageable;
import org.springframework.data.mongodb.repository.Meta;
import org.springframework.data.mongodb.repository.MongoRepository;

/**
 * Without a batch's size in their names, methods leave it to the driver.
 */
interface EntityRepository extends MongoRepository<Entity, String> {

	/**
	 * Unlike {@code deleteById}, it says how many it has removed.
	 */
	long removeById(String id);

	List<Entity> findByInteger(int integer);

	Stream<Entity> streamBy();

	Stream<Entity> streamByInteger(int integer);

	@Meta(cursorBatchSize = 100)
	Stream<Entity> streamBatchesOf100By();

	@Meta(cursorBatchSize = 100)
	Stream<Entity> streamBatchesOf100ByInteger(int integer);

	@Meta(cursorBatchSize = 1000)
	Stream<Entity> streamBatchesOf1000By();

	@Meta(cursorBatchSize = 1000)
	Stream<Entity> streamBatchesOf1000ByInteger(int integer);

	List<Entity> findBy(Pageable page);

	List<Entity> findByInteger(int integer, Pageable page);

	@Meta(cursorBatchSize = 100)
	List<Entity> findBatchesOf100By(Pageable page);

	@Meta(cursorBatchSize = 100)
	List<Entity> findBatchesOf100ByInteger(int integer, Pageable page);

	@Meta(cursorBatchSize = 1000)
	List<Entity> findBatchesOf1000By(Pageable page);

	@Meta(cursorBatchSize = 1000)
	List<Entity> findBatchesOf1000ByInteger(int integer, Pageable page);

}
