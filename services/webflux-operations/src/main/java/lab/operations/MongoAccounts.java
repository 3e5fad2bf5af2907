package lab.operations;

import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

@Component
@ConditionalOnProperty("lab.mongo-uri")
class MongoAccounts implements Accounts {

	private final AccountRepository repository;

	MongoAccounts(AccountRepository repository) {
		this.repository = repository;
	}

	@Override
	public Mono<Account> find(String login) {
		return this.repository.findByLogin(login);
	}

}
