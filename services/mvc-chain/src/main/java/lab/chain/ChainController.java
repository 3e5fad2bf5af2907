package lab.chain;

import io.github.resilience4j.circuitbreaker.CallNotPermittedException;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import lab.breaker.Breaker;
import lab.delay.Delay;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClientException;

@RestController
@ConditionalOnProperty("lab.backend-url")
class ChainController {

	private static final Log logger = LogFactory.getLog(ChainController.class);

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

	@ExceptionHandler
	ProblemDetail notAccepted(IllegalArgumentException ex) {
		return ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST, ex.getMessage());
	}

	@ExceptionHandler(CallNotPermittedException.class)
	ResponseEntity<?> notPermitted() {
		return this.breaker.refusal();
	}

	@ExceptionHandler
	ProblemDetail backendFailed(RestClientException ex) {
		logger.warn(ex.getMessage());
		return ProblemDetail.forStatus(HttpStatus.BAD_GATEWAY);
	}

}
