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
 * The same controller as {@link OperationController}, with its blocking calls wrapped.
 */
@RestController
@RequestMapping("/api/operations")
@ConditionalOnProperty(name = "lab.operations", havingValue = "wrapped")
class WrappedOperationController extends RefusingOnMvc {

	private final OperationService operations;

	private final Wrapping wrapping;

	WrappedOperationController(OperationService operations, Wrapping wrapping) {
		this.operations = operations;
		this.wrapping = wrapping;
	}

	@GetMapping
	Mono<List<Operation>> firstPage(
			@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization) {
		return this.wrapping.of(() -> this.operations.firstPage(authorization));
	}

	@GetMapping("/{id}")
	Mono<Operation> find(@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization,
			@PathVariable String id) {
		return this.wrapping.of(() -> this.operations.find(authorization, id));
	}

	@PostMapping
	Mono<ResponseEntity<Operation>> add(
			@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization,
			@RequestBody NewOperation operation) {
		return this.wrapping.of(() -> this.operations.add(authorization, operation).created());
	}

	@DeleteMapping("/{id}")
	@ResponseStatus(HttpStatus.NO_CONTENT)
	Mono<Void> remove(@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization,
			@PathVariable String id) {
		return this.wrapping.of(() -> {
			this.operations.remove(authorization, id);
			return null;
		});
	}

}
