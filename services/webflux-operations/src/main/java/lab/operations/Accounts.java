package lab.operations;

import reactor.core.publisher.Mono;

/**
 * The users in a database.
 */
public interface Accounts {

	Mono<Account> find(String login);

}
