package lab.operations;

import java.util.List;
import java.util.Optional;

/**
 * The operations in a database.
 */
public interface Operations {

	/**
	 * The first twenty by their keys.
	 */
	List<Operation> firstPage();

	Optional<Operation> find(String id);

	Operation add(Operation operation);

	/**
	 * Whether there was one to remove.
	 */
	boolean remove(String id);

}
