package lab.operations;

import java.time.Instant;

import org.bson.types.Decimal128;

import org.springframework.data.annotation.Id;
import org.springframework.data.mongodb.core.mapping.Document;

/**
 * An operation as MongoDB stores it: Spring Data's own form of an amount has changed.
 */
@Document(collection = "operations")
public final class OperationDocument {

	@Id
	private final String id;

	private final Instant date;

	private final String description;

	private final Decimal128 amount;

	OperationDocument(String id, Instant date, String description, Decimal128 amount) {
		this.id = id;
		this.date = date;
		this.description = description;
		this.amount = amount;
	}

	public static OperationDocument of(Operation operation) {
		return new OperationDocument(operation.id(), operation.date(), operation.description(),
				new Decimal128(operation.amount()));
	}

	public Operation toOperation() {
		return new Operation(this.id, this.date, this.description, this.amount.bigDecimalValue());
	}

}
