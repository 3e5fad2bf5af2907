package lab.operations;

import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * The operations in a database.
 */
public interface Operations {

	/**
	 * The first twenty by their keys.
	 */
	Flux<Operation> firstPage();

	Mono<Operation> find(String id);

	Mono<Operation> add(Operation operation);

	/**
	 * Whether there was one to remove.
	 */
	Mono<Boolean> remove(String id);

}
