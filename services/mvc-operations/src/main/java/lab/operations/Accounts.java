package lab.operations;

import java.util.Optional;

/**
 * The users in a database.
 */
public interface Accounts {

	Optional<Account> find(String login);

}
