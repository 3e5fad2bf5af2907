package lab.operations;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.http.HttpHeaders;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;

@RestController
@ConditionalOnProperty(name = "lab.accounts", havingValue = "plain")
class AccountController extends RefusingOnMvc {

	private final AccountService accounts;

	AccountController(AccountService accounts) {
		this.accounts = accounts;
	}

	@GetMapping("/api/account")
	Account account(@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization) {
		return this.accounts.account(authorization);
	}

	@PostMapping("/api/authenticate")
	IdToken authenticate(@RequestBody Credentials credentials) {
		return this.accounts.authenticate(credentials);
	}

}
