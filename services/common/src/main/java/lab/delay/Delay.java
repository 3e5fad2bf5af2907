package lab.delay;

import java.util.regex.Pattern;

/**
 * How long a request asks to wait. Spring binds a path variable to it by way of
 * {@link #valueOf(String)}.
 */
public record Delay(int millis) {

	private static final int MAX = 60_000;

	private static final String ACCEPTED = "millis must be a whole number from 0 to " + MAX;

	private static final Pattern DIGITS = Pattern.compile("[0-9]{1,5}");

	public Delay {
		if (millis < 0 || millis > MAX) {
			throw new IllegalArgumentException(ACCEPTED);
		}
	}

	public static Delay valueOf(String text) {
		if (!DIGITS.matcher(text).matches()) {
			throw new IllegalArgumentException(ACCEPTED);
		}
		return new Delay(Integer.parseInt(text));
	}

}
