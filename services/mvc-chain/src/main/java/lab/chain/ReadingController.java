package lab.chain;

import lab.delay.Delay;
import lab.entity.Entity;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.data.mongodb.core.MongoTemplate;
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

	private final MongoTemplate mongo;

	private final ChainController chain;

	ReadingController(MongoTemplate mongo, ChainController chain) {
		this.mongo = mongo;
		this.chain = chain;
	}

	@GetMapping("/chain/{millis}/after/{id}")
	Delay chain(@PathVariable("millis") Delay delay, @PathVariable String id) {
		if (this.mongo.findById(id, Entity.class) == null) {
			throw new ResponseStatusException(HttpStatus.NOT_FOUND);
		}
		return this.chain.chain(delay);
	}

}
