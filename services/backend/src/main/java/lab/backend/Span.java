package lab.backend;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A span of time, {@code 30:60}: from the thirtieth second on, for a minute.
 */
record Span(Duration from, Duration length) {

	static final Span NEVER = new Span(Duration.ZERO, Duration.ZERO);

	private static final Pattern WRITTEN = Pattern.compile("([0-9]{1,6}):([0-9]{1,6})");

	static Span valueOf(String text) {
		if (text.equals("never")) {
			return NEVER;
		}
		Matcher parts = WRITTEN.matcher(text);
		if (!parts.matches()) {
			throw new IllegalArgumentException("a span is written FROM:FOR in seconds, or never");
		}
		return new Span(Duration.ofSeconds(Long.parseLong(parts.group(1))),
				Duration.ofSeconds(Long.parseLong(parts.group(2))));
	}

	boolean contains(Duration elapsed) {
		return elapsed.compareTo(this.from) >= 0 && elapsed.compareTo(this.from.plus(this.length)) < 0;
	}

	@Override
	public String toString() {
		return equals(NEVER) ? "never" : this.from.toSeconds() + ":" + this.length.toSeconds();
	}

}
