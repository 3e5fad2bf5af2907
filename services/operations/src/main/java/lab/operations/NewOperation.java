package lab.operations;

import java.math.BigDecimal;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * An operation as a client describes it, to be stored.
 */
public final class NewOperation {

	private static final int LONGEST_DESCRIPTION = 255;

	/**
	 * The digits of an amount, before and after the point.
	 */
	private static final int WHOLE_DIGITS = 17;

	private static final int DECIMALS = 2;

	/**
	 * As far as both databases store them.
	 */
	private static final Instant FIRST_DATE = Instant.parse("1000-01-01T00:00:00Z");

	private static final Instant LAST_DATE = Instant.parse("9999-12-31T23:59:59.999Z");

	private final String date;

	private final String description;

	private final BigDecimal amount;

	@JsonCreator
	NewOperation(@JsonProperty("date") String date, @JsonProperty("description") String description,
			@JsonProperty("amount") BigDecimal amount) {
		this.date = date;
		this.description = description;
		this.amount = amount;
	}

	/**
	 * What is to be stored, which has no key yet.
	 */
	public Operation checked() {
		if (this.date == null || this.description == null || this.description.length() > LONGEST_DESCRIPTION
				|| this.amount == null || this.amount.scale() > DECIMALS
				|| wholeDigits() > WHOLE_DIGITS) {
			throw Refusal.malformed();
		}
		return new Operation(null, checkedDate(), this.description, this.amount.setScale(DECIMALS));
	}

	/**
	 * As a number that does not overflow: 1E2147483647 has the least scale that there is.
	 */
	private long wholeDigits() {
		return (long) this.amount.precision() - this.amount.scale();
	}

	private Instant checkedDate() {
		try {
			Instant parsed = Instant.parse(this.date).truncatedTo(ChronoUnit.MILLIS);
			if (parsed.isBefore(FIRST_DATE) || parsed.isAfter(LAST_DATE)) {
				throw Refusal.malformed();
			}
			return parsed;
		}
		catch (DateTimeException ex) {
			throw Refusal.malformed();
		}
	}

}
