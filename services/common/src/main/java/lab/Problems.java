package lab;

import lab.user.InvalidTokenException;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.dao.DataAccessException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.web.ErrorResponse;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;

/**
 * Answers what the framework itself refuses (404, 405, ...) from the status alone, since
 * the two stacks word the details differently.
 */
@RestControllerAdvice
class Problems {

	private static final Log logger = LogFactory.getLog(Problems.class);

	@ExceptionHandler
	ProblemDetail databaseFailed(DataAccessException ex) {
		logger.warn(ex.getMessage());
		return ProblemDetail.forStatus(HttpStatus.SERVICE_UNAVAILABLE);
	}

	@ExceptionHandler
	ResponseEntity<ProblemDetail> notBelieved(InvalidTokenException ex) {
		return ResponseEntity.status(HttpStatus.UNAUTHORIZED)
			.header(HttpHeaders.WWW_AUTHENTICATE, "Bearer")
			.body(ProblemDetail.forStatusAndDetail(HttpStatus.UNAUTHORIZED, ex.getMessage()));
	}

	@ExceptionHandler
	ResponseEntity<ProblemDetail> refused(Exception ex) throws Exception {
		if (ex instanceof ErrorResponse refusal) {
			return ResponseEntity.status(refusal.getStatusCode())
				.headers(refusal.getHeaders())
				.body(ProblemDetail.forStatus(refusal.getStatusCode()));
		}
		throw ex;
	}

}
