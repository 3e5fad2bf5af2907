package lab.entity;

import java.util.ArrayList;
import java.util.List;

import com.mongodb.MongoException;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;
import org.springframework.web.server.ServerWebInputException;

@RestController
@RequestMapping("/entities")
@ConditionalOnProperty("lab.access")
class EntityController {

	private static final Log logger = LogFactory.getLog(EntityController.class);

	private final EntityAccess entities;

	EntityController(EntityAccess entities) {
		this.entities = entities;
	}

	@PostMapping
	@ResponseStatus(HttpStatus.CREATED)
	Mono<Void> add(@RequestBody Entity entity) {
		return this.entities.add(entity);
	}

	@PostMapping("/many")
	@ResponseStatus(HttpStatus.CREATED)
	Mono<Void> addMany(@RequestBody List<Entity> entities) {
		return this.entities.addMany(Entity.several(entities));
	}

	@GetMapping("/{id}")
	Mono<Entity> get(@PathVariable String id) {
		return this.entities.get(id)
			.switchIfEmpty(Mono.error(() -> new ResponseStatusException(HttpStatus.NOT_FOUND)));
	}

	@GetMapping("/by-ids/{ids}")
	Mono<List<Entity>> getMany(@PathVariable List<String> ids) {
		return this.entities.getMany(ids);
	}

	@PutMapping("/{id}")
	@ResponseStatus(HttpStatus.NO_CONTENT)
	Mono<Void> update(@PathVariable String id, @RequestBody Content content) {
		return this.entities.update(id, content).flatMap(EntityController::check);
	}

	@PutMapping("/by-ids/{ids}")
	Mono<Matched> updateMany(@PathVariable List<String> ids, @RequestBody Content content) {
		return this.entities.updateMany(ids, content).map(Matched::new);
	}

	@PutMapping("/by-integer/{integer}")
	Mono<Matched> updateByInteger(@PathVariable String integer, @RequestBody Content content) {
		return this.entities.updateByInteger(Selection.number(integer), content).map(Matched::new);
	}

	@DeleteMapping("/{id}")
	@ResponseStatus(HttpStatus.NO_CONTENT)
	Mono<Void> remove(@PathVariable String id) {
		return this.entities.remove(id).flatMap(EntityController::check);
	}

	@GetMapping(path = { "", "/by-integer/{integer}" }, params = "way=collected")
	Mono<List<Entity>> collect(@PathVariable(required = false) @Nullable String integer,
			@RequestParam(defaultValue = "") String batch) {
		return this.entities.collect(Selection.of(integer, batch));
	}

	@GetMapping(path = { "", "/by-integer/{integer}" }, params = "way=streamed")
	Flux<Entity> stream(@PathVariable(required = false) @Nullable String integer,
			@RequestParam(defaultValue = "") String batch) {
		return this.entities.stream(Selection.of(integer, batch));
	}

	@GetMapping(path = { "", "/by-integer/{integer}" }, params = "way=paged")
	Mono<List<Entity>> page(@PathVariable(required = false) @Nullable String integer,
			@RequestParam(defaultValue = "") String batch) {
		Selection selection = Selection.of(integer, batch);
		return Flux.range(0, Integer.MAX_VALUE)
			.concatMap((number) -> this.entities.page(selection, number), 0)
			.takeUntil((page) -> page.size() < Selection.PAGE)
			.collect(ArrayList::new, List::addAll);
	}

	private static Mono<Void> check(long found) {
		return (found == 0) ? Mono.error(new ResponseStatusException(HttpStatus.NOT_FOUND)) : Mono.empty();
	}

	/**
	 * A body that is no JSON, or that its record refuses: Jackson wraps what the record says,
	 * so that the method decides what is said.
	 */
	@ExceptionHandler
	ProblemDetail notAccepted(ServerWebInputException ex, HttpMethod method) {
		String accepted = (method == HttpMethod.PUT) ? Content.ACCEPTED : Entity.ACCEPTED;
		return ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST, accepted);
	}

	@ExceptionHandler
	ProblemDetail notAccepted(IllegalArgumentException ex) {
		return ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST, ex.getMessage());
	}

	@ExceptionHandler
	ProblemDetail alreadyThere(DuplicateKeyException ex) {
		return ProblemDetail.forStatus(HttpStatus.CONFLICT);
	}

	/**
	 * What the driver says itself, where Spring Data does not translate it.
	 */
	@ExceptionHandler
	ProblemDetail databaseFailed(MongoException ex) {
		if (Entity.isAlreadyThere(ex)) {
			return ProblemDetail.forStatus(HttpStatus.CONFLICT);
		}
		logger.warn(ex.getMessage());
		return ProblemDetail.forStatus(HttpStatus.SERVICE_UNAVAILABLE);
	}

}
