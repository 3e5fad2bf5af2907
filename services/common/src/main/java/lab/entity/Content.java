package lab.entity;

import java.util.List;

import com.mongodb.client.model.Updates;
import org.bson.conversions.Bson;

import org.springframework.data.mongodb.core.query.Update;

/**
 * What an update changes of an entity: all but its key and its integer.
 */
record Content(String text, List<Double> doubles) {

	static final String ACCEPTED = "A content is a JSON object of a text of at most 1000000 characters, and at most "
			+ "100000 doubles";

	private static final int LONGEST_TEXT = 1_000_000;

	private static final int MOST_DOUBLES = 100_000;

	Content {
		check(text, doubles, ACCEPTED);
	}

	static void check(String text, List<Double> doubles, String accepted) {
		if (text == null || text.length() > LONGEST_TEXT || doubles == null || doubles.size() > MOST_DOUBLES
				|| doubles.contains(null)) {
			throw new IllegalArgumentException(accepted);
		}
	}

	Bson forDriver() {
		return Updates.combine(Updates.set("text", this.text), Updates.set("doubles", this.doubles));
	}

	Update forTemplate() {
		return Update.update("text", this.text).set("doubles", this.doubles);
	}

}
