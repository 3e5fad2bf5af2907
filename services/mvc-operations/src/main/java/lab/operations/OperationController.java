package lab.operations;

import java.util.List;

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

@RestController
@RequestMapping("/api/operations")
@ConditionalOnProperty(name = "lab.operations", havingValue = "plain")
class OperationController extends RefusingOnMvc {

	private final OperationService operations;

	OperationController(OperationService operations) {
		this.operations = operations;
	}

	@GetMapping
	List<Operation> firstPage(@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization) {
		return this.operations.firstPage(authorization);
	}

	@GetMapping("/{id}")
	Operation find(@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization,
			@PathVariable String id) {
		return this.operations.find(authorization, id);
	}

	@PostMapping
	ResponseEntity<Operation> add(
			@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization,
			@RequestBody NewOperation operation) {
		return this.operations.add(authorization, operation).created();
	}

	@DeleteMapping("/{id}")
	@ResponseStatus(HttpStatus.NO_CONTENT)
	void remove(@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) String authorization,
			@PathVariable String id) {
		this.operations.remove(authorization, id);
	}

}
