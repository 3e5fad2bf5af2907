package lab.chain;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import lab.breaker.Breaker;
import lab.delay.Delay;

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
	Delay chain(@PathVariable("millis") Delay delay) {
		CircuitBreaker breaker = this.breaker.current();
		return (breaker != null) ? breaker.executeSupplier(() -> this.backend.ask(delay)) : this.backend.ask(delay);
	}

}
