package lab.document;

import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.data.mongodb.core.ReactiveMongoTemplate;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;
import org.springframework.web.server.ServerWebInputException;

@RestController
@ConditionalOnProperty("lab.mongo-uri")
class DocumentController {

	private final ReactiveMongoTemplate mongo;

	DocumentController(ReactiveMongoTemplate mongo) {
		this.mongo = mongo;
	}

	@GetMapping("/documents/{id}")
	Mono<Document> find(@PathVariable String id) {
		return this.mongo.findById(id, Document.class, Document.COLLECTION)
			.switchIfEmpty(Mono.error(() -> new ResponseStatusException(HttpStatus.NOT_FOUND)));
	}

	@PostMapping("/documents")
	@ResponseStatus(HttpStatus.CREATED)
	Mono<Void> add(@RequestBody Document document) {
		return this.mongo.insert(document, Document.COLLECTION).then();
	}

	@ExceptionHandler
	ProblemDetail notAccepted(ServerWebInputException ex) {
		return ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST, Document.ACCEPTED);
	}

	@ExceptionHandler
	ProblemDetail alreadyThere(DuplicateKeyException ex) {
		return ProblemDetail.forStatus(HttpStatus.CONFLICT);
	}

}
