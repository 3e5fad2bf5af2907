package lab.entity;

import java.util.List;

import com.mongodb.ErrorCategory;
import com.mongodb.MongoBulkWriteException;
import com.mongodb.MongoException;
import org.bson.Document;

import org.springframework.data.mongodb.core.mapping.MongoId;

/**
 * What is stored. The database chooses the key of one that comes without. The largest fits
 * into the 16 MB that MongoDB stores, and its key into an index, whatever their characters.
 */
@org.springframework.data.mongodb.core.mapping.Document(Entity.COLLECTION)
public record Entity(@MongoId String id, int integer, String text, List<Double> doubles) {

	static final String DATABASE = "lab";

	static final String COLLECTION = "entities";

	static final String ACCEPTED = "An entity is a JSON object of an id of 1 to 100 characters, if there is one, an "
			+ "integer, a text of at most 1000000 characters, and at most 100000 doubles; several are a list of 1 to 100 of them";

	private static final int MOST = 100;

	private static final int LONGEST_ID = 100;

	public Entity {
		Content.check(text, doubles, ACCEPTED);
		if (id != null && (id.isBlank() || id.length() > LONGEST_ID)) {
			throw new IllegalArgumentException(ACCEPTED);
		}
	}

	Entity with(Content content) {
		return new Entity(this.id, this.integer, content.text(), content.doubles());
	}

	/**
	 * As the driver stores it: field by field, in the order in which Spring Data maps them.
	 */
	Document toDocument() {
		Document document = (this.id != null) ? new Document("_id", this.id) : new Document();
		return document.append("integer", this.integer).append("text", this.text).append("doubles", this.doubles);
	}

	static Entity of(Document document) {
		return new Entity(document.get("_id").toString(), document.getInteger("integer"), document.getString("text"),
				document.getList("doubles", Double.class));
	}

	/**
	 * Whether the driver says that the key of an entity, or of one of several, is taken.
	 */
	static boolean isAlreadyThere(MongoException ex) {
		return (ex instanceof MongoBulkWriteException several)
				? several.getWriteErrors().stream().anyMatch((error) -> isTaken(error.getCode())) : isTaken(ex.getCode());
	}

	private static boolean isTaken(int code) {
		return ErrorCategory.fromErrorCode(code) == ErrorCategory.DUPLICATE_KEY;
	}

	static List<Entity> several(List<Entity> entities) {
		if (entities.isEmpty() || entities.size() > MOST || entities.contains(null)) {
			throw new IllegalArgumentException(ACCEPTED);
		}
		return entities;
	}

}
