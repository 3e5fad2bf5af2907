package lab.fanout;

import org.bson.Document;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.data.mongodb.core.ReactiveMongoTemplate;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

@RestController
@ConditionalOnProperty("lab.mongo-uri")
class FanoutController {

	private final ReactiveMongoTemplate mongo;

	FanoutController(ReactiveMongoTemplate mongo) {
		this.mongo = mongo;
	}

	@GetMapping("/fanout/{calls}")
	Mono<Found> find(@PathVariable("calls") Fanout fanout) {
		int calls = fanout.calls();
		return Flux.range(0, calls)
			.flatMap((call) -> find(), calls)
			.count()
			.map((found) -> new Found(calls, found.intValue()));
	}

	private Mono<Document> find() {
		return this.mongo.findOne(SeededDocument.query(), Document.class, SeededDocument.COLLECTION);
	}

	@ExceptionHandler
	ProblemDetail notAccepted(IllegalArgumentException ex) {
		return ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST, ex.getMessage());
	}

}
