package lab.operations;

import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.http.HttpHeaders;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;

/**
 * The same controller as {@link AccountController}, with its blocking calls wrapped. A token
 * is checked before, on Tomcat's thread: whoever has none is not to wait for those who log in.
 */
@RestController
@ConditionalOnProperty(name = "lab.accounts", havingValue = "wrapped")
class WrappedAccountController extends RefusingOnMvc {

	private final AccountService accounts;

	private final Tokens tokens;

	private final Wrapping wrapping;

	WrappedAccountController(AccountService accounts, Tokens tokens, Wrapping wrapping) {
		this.accounts = accounts;
		this.tokens = tokens;
		this.wrapping = wrapping;
	}

	@GetMapping("/api/account")
	Mono<Account> account(@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization) {
		String login = this.tokens.login(authorization);
		return this.wrapping.of(() -> this.accounts.find(login));
	}

	@PostMapping("/api/authenticate")
	Mono<IdToken> authenticate(@RequestBody Credentials credentials) {
		return this.wrapping.of(() -> this.accounts.authenticate(credentials));
	}

}
