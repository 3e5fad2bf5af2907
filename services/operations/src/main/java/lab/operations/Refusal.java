package lab.operations;

import org.springframework.http.HttpStatus;

/**
 * Ends a request with a status and no more: whoever asks wrongly is told nothing else.
 */
public final class Refusal extends RuntimeException {

	private final HttpStatus status;

	private Refusal(HttpStatus status) {
		super(status.toString(), null, false, false);
		this.status = status;
	}

	public static Refusal malformed() {
		return new Refusal(HttpStatus.BAD_REQUEST);
	}

	public static Refusal unauthorized() {
		return new Refusal(HttpStatus.UNAUTHORIZED);
	}

	public static Refusal notFound() {
		return new Refusal(HttpStatus.NOT_FOUND);
	}

	public HttpStatus status() {
		return this.status;
	}

}
