package lab.operations;

import java.util.List;

import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/**
 * The same controller as {@link OperationController}, with its blocking calls wrapped: those
 * of the database. Tokens are checked before, on Tomcat's thread.
 */
@RestController
@RequestMapping("/api/operations")
@ConditionalOnProperty(name = "lab.operations", havingValue = "wrapped")
class WrappedOperationController extends RefusingOnMvc {

	private final Operations operations;

	private final Tokens tokens;

	private final Wrapping wrapping;

	WrappedOperationController(Operations operations, Tokens tokens, Wrapping wrapping) {
		this.operations = operations;
		this.tokens = tokens;
		this.wrapping = wrapping;
	}

	@GetMapping
	Mono<List<Operation>> firstPage(
			@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization) {
		this.tokens.login(authorization);
		return this.wrapping.of(this.operations::firstPage);
	}

	@GetMapping("/{id}")
	Mono<Operation> find(@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization,
			@PathVariable String id) {
		this.tokens.login(authorization);
		return this.wrapping.of(() -> this.operations.find(id).orElseThrow(Refusal::notFound));
	}

	@PostMapping
	Mono<ResponseEntity<Operation>> add(
			@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization,
			@RequestBody NewOperation operation) {
		this.tokens.login(authorization);
		Operation checked = operation.checked();
		return this.wrapping.of(() -> this.operations.add(checked).created());
	}

	@DeleteMapping("/{id}")
	@ResponseStatus(HttpStatus.NO_CONTENT)
	Mono<Void> remove(@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization,
			@PathVariable String id) {
		this.tokens.login(authorization);
		return this.wrapping.of(() -> {
			if (!this.operations.remove(id)) {
				throw Refusal.notFound();
			}
			return null;
		});
	}

}
