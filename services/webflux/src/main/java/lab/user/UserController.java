package lab.user;

import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

@RestController
@ConditionalOnProperty("lab.mysql-host")
class UserController {

	private final Users users;

	private final BearerTokens tokens;

	UserController(Users users, @Value("${lab.jwt-key}") String key) {
		this.users = users;
		this.tokens = new BearerTokens(key);
	}

	@GetMapping("/users/me")
	Mono<User> me(@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) @Nullable String authorization) {
		return this.users.find(this.tokens.email(authorization))
			.switchIfEmpty(Mono.error(() -> new ResponseStatusException(HttpStatus.NOT_FOUND)));
	}

}
