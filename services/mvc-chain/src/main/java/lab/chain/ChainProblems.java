package lab.chain;

import java.io.InterruptedIOException;

import io.github.resilience4j.circuitbreaker.CallNotPermittedException;
import lab.breaker.Breaker;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.client.ResourceAccessException;
import org.springframework.web.client.RestClientException;

@RestControllerAdvice(basePackageClasses = ChainProblems.class)
@ConditionalOnProperty("lab.backend-url")
class ChainProblems {

	private static final Log logger = LogFactory.getLog(ChainProblems.class);

	private final Breaker breaker;

	private final BackendPool pool;

	ChainProblems(Breaker breaker, BackendPool pool) {
		this.breaker = breaker;
		this.pool = pool;
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
		// After a timeout the others may be well.
		if (ex instanceof ResourceAccessException && !(ex.getCause() instanceof InterruptedIOException)) {
			this.pool.leaveIdle();
		}
		return ProblemDetail.forStatus(HttpStatus.BAD_GATEWAY);
	}

}
