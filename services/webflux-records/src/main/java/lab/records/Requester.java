package lab.records;

import org.springframework.data.annotation.Id;
import org.springframework.data.relational.core.mapping.Table;

/**
 * A row of the table {@code requesters}: somebody who is registered, allowed or not.
 */
@Table("requesters")
record Requester(@Id String name, boolean allowed) {
}
