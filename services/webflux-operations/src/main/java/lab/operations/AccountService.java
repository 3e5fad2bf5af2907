package lab.operations;

import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Service;

/**
 * Logs users in, and tells them who they are.
 */
@Service
@ConditionalOnProperty("lab.jwt-key")
class AccountService {

	private final Accounts accounts;

	private final Passwords passwords;

	private final Tokens tokens;

	AccountService(Accounts accounts, Passwords passwords, Tokens tokens) {
		this.accounts = accounts;
		this.passwords = passwords;
		this.tokens = tokens;
	}

	Mono<Account> account(String authorization) {
		return find(this.tokens.login(authorization));
	}

	/**
	 * Compares the password where Spring Security does: it takes too long for an event loop.
	 */
	Mono<IdToken> authenticate(Credentials credentials) {
		credentials.check();
		return find(credentials.username()).publishOn(Schedulers.boundedElastic())
			.doOnNext((account) -> this.passwords.check(credentials, account))
			.map((account) -> this.tokens.signed(credentials));
	}

	private Mono<Account> find(String login) {
		return this.accounts.find(login).switchIfEmpty(Mono.error(Refusal::unauthorized));
	}

}
