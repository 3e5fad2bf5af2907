package lab.user;

/**
 * Says nothing about what is wrong with the token: whoever forged it would learn from it.
 */
public class InvalidTokenException extends RuntimeException {

	InvalidTokenException() {
		super("A valid bearer token is required", null, false, false);
	}

}
