package lab.document;

import org.springframework.data.mongodb.core.mapping.MongoId;

/**
 * A text under a key of the client's choice. The longest one fits into the 16 MB that
 * MongoDB stores, whatever its characters.
 */
record Document(@MongoId String id, String text) {

	static final String COLLECTION = "documents";

	static final String ACCEPTED = "A document is a JSON object of an id, which is not blank, and a text";

	private static final int MAX_LENGTH = 5_000_000;

	Document {
		if (id == null || id.isBlank() || text == null || text.length() > MAX_LENGTH) {
			throw new IllegalArgumentException(ACCEPTED);
		}
	}

}
