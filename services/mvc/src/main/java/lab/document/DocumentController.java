package lab.document;

import java.util.Optional;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.data.mongodb.core.MongoTemplate;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.http.converter.HttpMessageNotReadableException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

@RestController
@ConditionalOnProperty("lab.mongo-uri")
class DocumentController {

	private final MongoTemplate mongo;

	DocumentController(MongoTemplate mongo) {
		this.mongo = mongo;
	}

	@GetMapping("/documents/{id}")
	Document find(@PathVariable String id) {
		return Optional.ofNullable(this.mongo.findById(id, Document.class, Document.COLLECTION))
			.orElseThrow(() -> new ResponseStatusException(HttpStatus.NOT_FOUND));
	}

	@PostMapping("/documents")
	@ResponseStatus(HttpStatus.CREATED)
	void add(@RequestBody Document document) {
		this.mongo.insert(document, Document.COLLECTION);
	}

	@ExceptionHandler
	ProblemDetail notAccepted(HttpMessageNotReadableException ex) {
		return ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST, Document.ACCEPTED);
	}

	@ExceptionHandler
	ProblemDetail alreadyThere(DuplicateKeyException ex) {
		return ProblemDetail.forStatus(HttpStatus.CONFLICT);
	}

}
