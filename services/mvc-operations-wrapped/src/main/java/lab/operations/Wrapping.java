package lab.operations;

import java.util.concurrent.Callable;

import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/**
 * Makes a Mono of what blocks, by one of Reactor's schedulers: {@code lab.scheduler} says
 * which.
 */
@Component
@ConditionalOnProperty("lab.scheduler")
class Wrapping {

	private final Scheduler scheduler;

	Wrapping(@Value("${lab.scheduler}") String name) {
		this.scheduler = switch (name) {
			case "parallel" -> Schedulers.parallel();
			case "boundedElastic" -> Schedulers.boundedElastic();
			default -> throw new IllegalArgumentException("lab.scheduler is parallel or boundedElastic");
		};
	}

	<T> Mono<T> of(Callable<T> blocking) {
		return on(Mono.fromCallable(blocking));
	}

	<T> Mono<T> on(Mono<T> reactive) {
		return reactive.subscribeOn(this.scheduler);
	}

}
