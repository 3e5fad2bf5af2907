package lab.records;

import org.springframework.data.annotation.Id;
import org.springframework.data.relational.core.mapping.Table;

/**
 * A row of the table {@code records}.
 */
@Table("records")
record StoredRecord(@Id String id, String partner, String category, String content) {

	StoredRecord withContent(String content) {
		return new StoredRecord(this.id, this.partner, this.category, content);
	}

}
