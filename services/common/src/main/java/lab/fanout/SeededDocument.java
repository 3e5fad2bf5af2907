package lab.fanout;

import org.springframework.data.mongodb.core.query.Criteria;
import org.springframework.data.mongodb.core.query.Query;

/**
 * What each of a request's finds looks for. Only its key comes back, so that a find costs
 * a round trip and nothing else.
 */
final class SeededDocument {

	static final String COLLECTION = "documents";

	private static final String ID = "1000";

	private SeededDocument() {
	}

	static Query query() {
		Query query = Query.query(Criteria.where("_id").is(ID));
		query.fields().include("_id");
		return query;
	}

}
