package lab.operations;

import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.server.ServerWebInputException;

/**
 * Refuses a body that is no JSON too, for which each stack has an exception of its own.
 */
abstract class RefusingOnWebFlux extends Refusing {

	@ExceptionHandler
	ResponseEntity<Void> unreadable(ServerWebInputException ex) {
		return refused(Refusal.malformed());
	}

}
