package lab.operations;

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

	Account account(String authorization) {
		return find(this.tokens.login(authorization));
	}

	IdToken authenticate(Credentials credentials) {
		credentials.check();
		this.passwords.check(credentials, find(credentials.username()));
		return this.tokens.signed(credentials);
	}

	Account find(String login) {
		return this.accounts.find(login).orElseThrow(Refusal::unauthorized);
	}

}
