package lab.records;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;

/**
 * A row of the table {@code requesters}: somebody who is registered, allowed or not.
 */
@Entity
@Table(name = "requesters")
class Requester {

	@Id
	private String name;

	private boolean allowed;

	String getName() {
		return this.name;
	}

	boolean isAllowed() {
		return this.allowed;
	}

}
