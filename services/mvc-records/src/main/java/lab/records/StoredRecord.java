package lab.records;

import com.fasterxml.jackson.annotation.JsonPropertyOrder;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;

/**
 * A row of the table {@code records}.
 */
@Entity
@Table(name = "records")
@JsonPropertyOrder({ "id", "partner", "category", "content" })
public class StoredRecord {

	@Id
	private String id;

	private String partner;

	private String category;

	private String content;

	public String getId() {
		return this.id;
	}

	public String getPartner() {
		return this.partner;
	}

	public String getCategory() {
		return this.category;
	}

	public String getContent() {
		return this.content;
	}

	void setContent(String content) {
		this.content = content;
	}

	/**
	 * What finds it, among others.
	 */
	public Lookup lookup() {
		return new Lookup(this.partner, this.category);
	}

}
