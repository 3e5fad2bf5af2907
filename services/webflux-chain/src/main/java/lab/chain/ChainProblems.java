package lab.chain;

import io.github.resilience4j.circuitbreaker.CallNotPermittedException;
import lab.breaker.Breaker;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.core.codec.CodecException;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.reactive.function.client.WebClientException;

@RestControllerAdvice(basePackageClasses = ChainProblems.class)
@ConditionalOnProperty("lab.backend-url")
class ChainProblems {

	private static final Log logger = LogFactory.getLog(ChainProblems.class);

	private final Breaker breaker;

	ChainProblems(Breaker breaker) {
		this.breaker = breaker;
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
