package lab.entity;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

import com.mongodb.MongoException;
import jakarta.servlet.http.HttpServletResponse;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.SequenceWriter;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ProblemDetail;
import org.springframework.http.converter.HttpMessageNotReadableException;
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

@RestController
@RequestMapping("/entities")
@ConditionalOnProperty("lab.access")
class EntityController {

	private static final Log logger = LogFactory.getLog(EntityController.class);

	private final EntityAccess entities;

	private final JsonMapper mapper;

	EntityController(EntityAccess entities, JsonMapper mapper) {
		this.entities = entities;
		this.mapper = mapper;
	}

	@PostMapping
	@ResponseStatus(HttpStatus.CREATED)
	void add(@RequestBody Entity entity) {
		this.entities.add(entity);
	}

	@PostMapping("/many")
	@ResponseStatus(HttpStatus.CREATED)
	void addMany(@RequestBody List<Entity> entities) {
		this.entities.addMany(Entity.several(entities));
	}

	@GetMapping("/{id}")
	Entity get(@PathVariable String id) {
		return Optional.ofNullable(this.entities.get(id))
			.orElseThrow(() -> new ResponseStatusException(HttpStatus.NOT_FOUND));
	}

	@GetMapping("/by-ids/{ids}")
	List<Entity> getMany(@PathVariable List<String> ids) {
		return this.entities.getMany(ids);
	}

	@PutMapping("/{id}")
	@ResponseStatus(HttpStatus.NO_CONTENT)
	void update(@PathVariable String id, @RequestBody Content content) {
		check(this.entities.update(id, content));
	}

	@PutMapping("/by-ids/{ids}")
	Matched updateMany(@PathVariable List<String> ids, @RequestBody Content content) {
		return new Matched(this.entities.updateMany(ids, content));
	}

	@PutMapping("/by-integer/{integer}")
	Matched updateByInteger(@PathVariable String integer, @RequestBody Content content) {
		return new Matched(this.entities.updateByInteger(Selection.number(integer), content));
	}

	@DeleteMapping("/{id}")
	@ResponseStatus(HttpStatus.NO_CONTENT)
	void remove(@PathVariable String id) {
		check(this.entities.remove(id));
	}

	@GetMapping(path = { "", "/by-integer/{integer}" }, params = "way=collected")
	List<Entity> collect(@PathVariable(required = false) @Nullable String integer,
			@RequestParam(defaultValue = "") String batch) {
		return this.entities.collect(Selection.of(integer, batch));
	}

	@GetMapping(path = { "", "/by-integer/{integer}" }, params = "way=streamed")
	void stream(@PathVariable(required = false) @Nullable String integer,
			@RequestParam(defaultValue = "") String batch, HttpServletResponse response) throws IOException {
		Selection selection = Selection.of(integer, batch);
		try (Stream<Entity> found = this.entities.stream(selection)) {
			response.setContentType(MediaType.APPLICATION_JSON_VALUE);
			SequenceWriter array = this.mapper.writer()
				.without(SerializationFeature.FLUSH_AFTER_WRITE_VALUE) // else each is a chunk and a write
				.writeValuesAsArray(response.getOutputStream());
			found.forEach(array::write);
			array.flush(); // in chunks, however few they are, as from Netty
			array.close(); // only here: after a failure it would make a whole answer of a part
		}
	}

	@GetMapping(path = { "", "/by-integer/{integer}" }, params = "way=paged")
	List<Entity> page(@PathVariable(required = false) @Nullable String integer,
			@RequestParam(defaultValue = "") String batch) {
		Selection selection = Selection.of(integer, batch);
		List<Entity> all = new ArrayList<>();
		List<Entity> page;
		int number = 0;
		do {
			page = this.entities.page(selection, number++);
			all.addAll(page);
		}
		while (page.size() == Selection.PAGE);
		return all;
	}

	private static void check(long found) {
		if (found == 0) {
			throw new ResponseStatusException(HttpStatus.NOT_FOUND);
		}
	}

	/**
	 * A body that is no JSON, or that its record refuses: Jackson wraps what the record says,
	 * so that the method decides what is said.
	 */
	@ExceptionHandler
	ProblemDetail notAccepted(HttpMessageNotReadableException ex, HttpMethod method) {
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
	ProblemDetail databaseFailed(MongoException ex, HttpServletResponse response) {
		if (response.isCommitted()) {
			throw ex; // the connection ends with it, as Netty's does: this would complete a part of an answer
		}
		if (Entity.isAlreadyThere(ex)) {
			return ProblemDetail.forStatus(HttpStatus.CONFLICT);
		}
		logger.warn(ex.getMessage());
		return ProblemDetail.forStatus(HttpStatus.SERVICE_UNAVAILABLE);
	}

}
