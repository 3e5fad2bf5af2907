package lab.operations;

import org.springframework.security.crypto.bcrypt.BCryptPasswordEncoder;
import org.springframework.stereotype.Component;

/**
 * Compares passwords with their BCrypt hashes, each of which says how much work that is.
 */
@Component
public class Passwords {

	private final BCryptPasswordEncoder encoder = new BCryptPasswordEncoder();

	/**
	 * Refuses another password than that of the account.
	 */
	public void check(Credentials credentials, Account account) {
		if (!this.encoder.matches(credentials.password(), account.passwordHash())) {
			throw Refusal.unauthorized();
		}
	}

}
