package lab.fanout;

import java.util.regex.Pattern;

/**
 * How many independent finds a request asks for. Spring binds a path variable to it by
 * way of {@link #valueOf(String)}.
 */
record Fanout(int calls) {

	private static final int MAX = 100;

	private static final String ACCEPTED = "calls must be a whole number from 1 to " + MAX;

	private static final Pattern DIGITS = Pattern.compile("[0-9]{1,3}");

	Fanout {
		if (calls < 1 || calls > MAX) {
			throw new IllegalArgumentException(ACCEPTED);
		}
	}

	public static Fanout valueOf(String text) {
		if (!DIGITS.matcher(text).matches()) {
			throw new IllegalArgumentException(ACCEPTED);
		}
		return new Fanout(Integer.parseInt(text));
	}

}
