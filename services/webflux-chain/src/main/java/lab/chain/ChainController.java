package lab.chain;

import io.github.resilience4j.circuitbreaker.CallNotPermittedException;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.reactor.circuitbreaker.operator.CircuitBreakerOperator;
import lab.breaker.Breaker;
import lab.delay.Delay;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import reactor.core.publisher.Mono;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.core.codec.CodecException;
import org.springframework.core.codec.DecodingException;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.WebClientException;

@RestController
@ConditionalOnProperty("lab.backend-url")
class ChainController {

	private static final Log logger = LogFactory.getLog(ChainController.class);

	private final WebClient backend;

	private final Breaker breaker;

	ChainController(WebClient.Builder client, @Value("${lab.backend-url}") String url, Breaker breaker) {
		this.backend = client.baseUrl(url).build();
		this.breaker = breaker;
	}

	@GetMapping("/chain/{millis}")
	Mono<Delay> chain(@PathVariable("millis") Delay delay) {
		CircuitBreaker breaker = this.breaker.current();
		return (breaker != null) ? ask(delay).transform(CircuitBreakerOperator.of(breaker)) : ask(delay);
	}

	private Mono<Delay> ask(Delay delay) {
		return this.backend.get()
			.uri("/delay/{millis}", delay.millis())
			.accept(MediaType.APPLICATION_JSON)
			.retrieve()
			.onStatus((status) -> !status.isSameCodeAs(HttpStatus.OK), ClientResponse::createException)
			.bodyToMono(Delay.class)
			.switchIfEmpty(Mono.error(() -> new DecodingException("The backend's answer is empty")));
	}

	@ExceptionHandler
	ProblemDetail notAccepted(IllegalArgumentException ex) {
		return ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST, ex.getMessage());
	}

	@ExceptionHandler(CallNotPermittedException.class)
	ResponseEntity<?> notPermitted() {
		return this.breaker.refusal();
	}

	@ExceptionHandler({ WebClientException.class, CodecException.class })
	ProblemDetail backendFailed(Exception ex) {
		logger.warn((ex.getMessage() != null) ? ex.getMessage() : ex.getCause()); // Netty's timeouts have no message
		return ProblemDetail.forStatus(HttpStatus.BAD_GATEWAY);
	}

}
