package lab.fanout;

import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import org.bson.Document;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.data.mongodb.core.MongoTemplate;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

@RestController
@ConditionalOnProperty("lab.mongo-uri")
class FanoutController {

	private final MongoTemplate mongo;

	private final boolean parallel;

	FanoutController(MongoTemplate mongo, @Value("${lab.fanout-parallel:false}") boolean parallel) {
		this.mongo = mongo;
		this.parallel = parallel;
	}

	@GetMapping("/fanout/{calls}")
	Found find(@PathVariable("calls") Fanout fanout) throws InterruptedException {
		int calls = fanout.calls();
		return new Found(calls, this.parallel ? findAtOnce(calls) : findInTurn(calls));
	}

	private int findInTurn(int calls) {
		int found = 0;
		for (int call = 0; call < calls; call++) {
			found += find();
		}
		return found;
	}

	private int findAtOnce(int calls) throws InterruptedException {
		List<Callable<Integer>> finds = Collections.nCopies(calls, this::find);
		try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
			int found = 0;
			for (Future<Integer> find : threads.invokeAll(finds)) {
				found += find.get();
			}
			return found;
		}
		catch (ExecutionException ex) {
			throw (ex.getCause() instanceof RuntimeException failure) ? failure : new IllegalStateException(ex);
		}
	}

	private int find() {
		Document document = this.mongo.findOne(SeededDocument.query(), Document.class, SeededDocument.COLLECTION);
		return (document != null) ? 1 : 0;
	}

	@ExceptionHandler
	ProblemDetail notAccepted(IllegalArgumentException ex) {
		return ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST, ex.getMessage());
	}

}
