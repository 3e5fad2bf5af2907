package lab.chain;

import lab.delay.Delay;
import lab.entity.Entity;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.data.mongodb.core.ReactiveMongoTemplate;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/**
 * Reads an entity of this service's own before the call.
 */
@RestController
@ConditionalOnProperty({ "lab.backend-url", "lab.mongo-uri" })
class ReadingController {

	private final ReactiveMongoTemplate mongo;

	private final ChainController chain;

	ReadingController(ReactiveMongoTemplate mongo, ChainController chain) {
		this.mongo = mongo;
		this.chain = chain;
	}

	@GetMapping("/chain/{millis}/after/{id}")
	Mono<Delay> chain(@PathVariable("millis") Delay delay, @PathVariable String id) {
		return this.mongo.findById(id, Entity.class)
			.switchIfEmpty(Mono.error(() -> new ResponseStatusException(HttpStatus.NOT_FOUND)))
			.flatMap((read) -> this.chain.chain(delay));
	}

}
