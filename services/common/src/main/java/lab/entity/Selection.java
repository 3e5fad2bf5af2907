package lab.entity;

import java.util.Map;

import com.mongodb.client.model.Filters;
import org.bson.conversions.Bson;
import org.jspecify.annotations.Nullable;

import org.springframework.data.mongodb.core.query.Criteria;
import org.springframework.data.mongodb.core.query.Query;

/**
 * Which entities a request asks for, all or those of an integer, and in batches of how many
 * the database is to send them: 0 leaves that to the driver.
 */
record Selection(@Nullable Integer integer, int batch) {

	/**
	 * Of entities that are asked for page by page.
	 */
	static final int PAGE = 1000;

	private static final String ACCEPTED = "The integer must be a whole number, and batch default, 100 or 1000";

	/**
	 * A repository's batches have a size in its source, so that there are few to choose
	 * from.
	 */
	private static final Map<String, Integer> BATCHES = Map.of("default", 0, "100", 100, "1000", 1000);

	static Selection of(@Nullable String integer, String batch) {
		Integer size = BATCHES.get(batch);
		if (size == null) {
			throw new IllegalArgumentException(ACCEPTED);
		}
		return new Selection((integer != null) ? number(integer) : null, size);
	}

	static int number(String text) {
		try {
			return Integer.parseInt(text);
		}
		catch (NumberFormatException ex) {
			throw new IllegalArgumentException(ACCEPTED, ex);
		}
	}

	Bson filter() {
		return (this.integer != null) ? Filters.eq("integer", this.integer) : Filters.empty();
	}

	Query query() {
		Query query = (this.integer != null) ? Query.query(Criteria.where("integer").is(this.integer)) : new Query();
		return (this.batch > 0) ? query.cursorBatchSize(this.batch) : query;
	}

}
