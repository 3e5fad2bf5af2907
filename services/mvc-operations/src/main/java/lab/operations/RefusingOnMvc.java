package lab.operations;

import org.springframework.http.ResponseEntity;
import org.springframework.http.converter.HttpMessageNotReadableException;
import org.springframework.web.bind.annotation.ExceptionHandler;

/**
 * Refuses a body that is no JSON too, for which each stack has an exception of its own.
 */
abstract class RefusingOnMvc extends Refusing {

	@ExceptionHandler
	ResponseEntity<Void> unreadable(HttpMessageNotReadableException ex) {
		return refused(Refusal.malformed());
	}

}
