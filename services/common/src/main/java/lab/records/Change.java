package lab.records;

/**
 * What a save changes of a record: all but its key, and what it is looked up by.
 */
record Change(String content) {

	static final String ACCEPTED = "A change is a JSON object of a content of at most 200 characters";

	private static final int LONGEST = 200;

	Change {
		if (content == null || content.length() > LONGEST) {
			throw new IllegalArgumentException(ACCEPTED);
		}
	}

}
