package lab.chain;

import java.io.IOException;

import io.github.resilience4j.circuitbreaker.CallNotPermittedException;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import lab.breaker.Breaker;
import lab.delay.Delay;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.http.HttpRequest;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;
import org.springframework.web.client.RestClient.RequestHeadersSpec.ConvertibleClientHttpResponse;
import org.springframework.web.client.RestClientException;

@RestController
@ConditionalOnProperty("lab.backend-url")
class ChainController {

	private static final Log logger = LogFactory.getLog(ChainController.class);

	private final RestClient backend;

	private final Breaker breaker;

	ChainController(RestClient.Builder client, @Value("${lab.backend-url}") String url, Breaker breaker) {
		this.backend = client.baseUrl(url).build();
		this.breaker = breaker;
	}

	@GetMapping("/chain/{millis}")
	Delay chain(@PathVariable("millis") Delay delay) {
		CircuitBreaker breaker = this.breaker.current();
		return (breaker != null) ? breaker.executeSupplier(() -> ask(delay)) : ask(delay);
	}

	private Delay ask(Delay delay) {
		return this.backend.get()
			.uri("/delay/{millis}", delay.millis())
			.accept(MediaType.APPLICATION_JSON)
			.exchange(ChainController::answer);
	}

	private static Delay answer(HttpRequest request, ConvertibleClientHttpResponse response) throws IOException {
		Delay delay = response.getStatusCode().isSameCodeAs(HttpStatus.OK) ? response.bodyTo(Delay.class) : null;
		if (delay == null) {
			throw response.createException();
		}
		return delay;
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
