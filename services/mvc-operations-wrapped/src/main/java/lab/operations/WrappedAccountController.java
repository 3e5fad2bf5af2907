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
 * The same controller as {@link AccountController}, with its blocking calls wrapped.
 */
@RestController
@ConditionalOnProperty(name = "lab.accounts", havingValue = "wrapped")
class WrappedAccountController extends RefusingOnMvc {

	private final AccountService accounts;

	private final Wrapping wrapping;

	WrappedAccountController(AccountService accounts, Wrapping wrapping) {
		this.accounts = accounts;
		this.wrapping = wrapping;
	}

	@GetMapping("/api/account")
	Mono<Account> account(@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization) {
		return this.wrapping.of(() -> this.accounts.account(authorization));
	}

	@PostMapping("/api/authenticate")
	Mono<IdToken> authenticate(@RequestBody Credentials credentials) {
		return this.wrapping.of(() -> this.accounts.authenticate(credentials));
	}

}
