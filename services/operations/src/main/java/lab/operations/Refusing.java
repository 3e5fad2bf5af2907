package lab.operations;

import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;

/**
 * What all controllers refuse in one way.
 */
public abstract class Refusing {

	@ExceptionHandler
	ResponseEntity<Void> refused(Refusal refusal) {
		ResponseEntity.BodyBuilder answer = ResponseEntity.status(refusal.status());
		if (refusal.status() == HttpStatus.UNAUTHORIZED) {
			answer.header(HttpHeaders.WWW_AUTHENTICATE, "Bearer");
		}
		return answer.build();
	}

}
