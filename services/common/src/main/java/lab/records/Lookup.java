package lab.records;

import org.jspecify.annotations.Nullable;

/**
 * What records are looked up by.
 */
public record Lookup(String partner, String category) {

	private static final String ACCEPTED = "partner and category must each have 1 to 32 characters";

	private static final int LONGEST = 32;

	static Lookup by(@Nullable String partner, @Nullable String category) {
		if (!isAccepted(partner) || !isAccepted(category)) {
			throw new IllegalArgumentException(ACCEPTED);
		}
		return new Lookup(partner, category);
	}

	private static boolean isAccepted(@Nullable String text) {
		return text != null && !text.isEmpty() && text.length() <= LONGEST;
	}

}
