package lab.entity;

import java.util.List;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

/**
 * A way to reach the entities: {@code lab.access} says which.
 */
interface EntityAccess {

	void add(Entity entity);

	void addMany(List<Entity> entities);

	@Nullable Entity get(String id);

	List<Entity> getMany(List<String> ids);

	/**
	 * @return how many entities have that key
	 */
	long update(String id, Content content);

	long updateMany(List<String> ids, Content content);

	long updateByInteger(int integer, Content content);

	/**
	 * @return how many entities had that key
	 */
	long remove(String id);

	/**
	 * The entities as one list, fetched batch by batch.
	 */
	List<Entity> collect(Selection selection);

	/**
	 * The entities as they come, batch by batch.
	 */
	Stream<Entity> stream(Selection selection);

	/**
	 * One of the pages into which the entities are cut, sorted by their keys.
	 */
	List<Entity> page(Selection selection, int number);

}
