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
 * The operations' controller on Spring MVC with a reactive repository behind it: nothing but
 * the server blocks.
 */
@RestController
@RequestMapping("/api/operations")
@ConditionalOnProperty(name = "lab.operations", havingValue = "repository")
class RepositoryOperationController extends RefusingOnMvc {

	private final ReactiveOperationRepository operations;

	private final Tokens tokens;

	private final Wrapping wrapping;

	RepositoryOperationController(ReactiveOperationRepository operations, Tokens tokens, Wrapping wrapping) {
		this.operations = operations;
		this.tokens = tokens;
		this.wrapping = wrapping;
	}

	@GetMapping
	Mono<List<Operation>> firstPage(
			@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization) {
		this.tokens.login(authorization);
		return this.wrapping
			.on(this.operations.findTop20ByOrderByIdAsc().map(OperationDocument::toOperation).collectList());
	}

	@GetMapping("/{id}")
	Mono<Operation> find(@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization,
			@PathVariable String id) {
		this.tokens.login(authorization);
		return this.wrapping.on(this.operations.findById(id)
			.map(OperationDocument::toOperation)
			.switchIfEmpty(Mono.error(Refusal::notFound)));
	}

	@PostMapping
	Mono<ResponseEntity<Operation>> add(
			@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization,
			@RequestBody NewOperation operation) {
		this.tokens.login(authorization);
		return this.wrapping.on(this.operations.insert(OperationDocument.of(operation.checked()))
			.map((stored) -> stored.toOperation().created()));
	}

	@DeleteMapping("/{id}")
	@ResponseStatus(HttpStatus.NO_CONTENT)
	Mono<Void> remove(@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization,
			@PathVariable String id) {
		this.tokens.login(authorization);
		return this.wrapping.on(this.operations.removeById(id)
			.filter((removed) -> removed > 0)
			.switchIfEmpty(Mono.error(Refusal::notFound))
			.then());
	}

}
