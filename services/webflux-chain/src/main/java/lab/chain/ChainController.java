package lab.chain;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.reactor.circuitbreaker.operator.CircuitBreakerOperator;
import lab.breaker.Breaker;
import lab.delay.Delay;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

@RestController
@ConditionalOnProperty("lab.backend-url")
class ChainController {

	private final Backend backend;

	private final Breaker breaker;

	ChainController(Backend backend, Breaker breaker) {
		this.backend = backend;
		this.breaker = breaker;
	}

	@GetMapping("/chain/{millis}")
	Mono<Delay> chain(@PathVariable("millis") Delay delay) {
		CircuitBreaker breaker = this.breaker.current();
		Mono<Delay> answer = this.backend.ask(delay);
		return (breaker != null) ? toTheEnd(answer.transform(CircuitBreakerOperator.of(breaker))) : answer;
	}

	/**
	 * A breaker learns nothing of a call that is cancelled because the client has left. A
	 * blocked thread finishes such a call, so this one is finished too.
	 */
	private static <T> Mono<T> toTheEnd(Mono<T> call) {
		boolean suppressCancel = true;
		return Mono.fromFuture(call::toFuture, suppressCancel);
	}

}
