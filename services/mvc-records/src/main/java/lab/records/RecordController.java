package lab.records;

import java.util.List;
import java.util.Optional;

import lab.user.BearerTokens;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.http.converter.HttpMessageNotReadableException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

@RestController
@RequestMapping("/records")
@ConditionalOnProperty("lab.mysql-host")
class RecordController {

	private final Records records;

	private final Registry registry;

	private final BearerTokens tokens;

	RecordController(Records records, Registry registry, @Value("${lab.jwt-key}") String key) {
		this.records = records;
		this.registry = registry;
		this.tokens = new BearerTokens(key);
	}

	@GetMapping
	Answer<StoredRecord> find(
			@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) @Nullable String authorization,
			@RequestParam(required = false) @Nullable String partner,
			@RequestParam(required = false) @Nullable String category) {
		checkAllowed(authorization);
		return Answer.of(this.records.find(Lookup.by(partner, category)));
	}

	@PutMapping("/{id}")
	Answer<StoredRecord> save(
			@RequestHeader(name = HttpHeaders.AUTHORIZATION, required = false) @Nullable String authorization,
			@PathVariable String id, @RequestBody Change change) {
		checkAllowed(authorization);
		return Optional.ofNullable(this.records.save(id, change))
			.map((saved) -> Answer.of(List.of(saved)))
			.orElseThrow(() -> new ResponseStatusException(HttpStatus.NOT_FOUND));
	}

	private void checkAllowed(@Nullable String authorization) {
		if (!this.registry.allows(this.tokens.email(authorization))) {
			throw new ResponseStatusException(HttpStatus.FORBIDDEN);
		}
	}

	@ExceptionHandler
	ProblemDetail notAccepted(HttpMessageNotReadableException ex) {
		return ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST, Change.ACCEPTED);
	}

	@ExceptionHandler
	ProblemDetail notAccepted(IllegalArgumentException ex) {
		return ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST, ex.getMessage());
	}

}
