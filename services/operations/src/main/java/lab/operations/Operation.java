package lab.operations;

import java.math.BigDecimal;
import java.net.URI;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;

import org.springframework.http.ResponseEntity;

/**
 * A movement of money that is stored under a key of the database's choice.
 */
@JsonPropertyOrder({ "id", "date", "description", "amount" })
public final class Operation {

	private final String id;

	private final Instant date;

	private final String description;

	private final BigDecimal amount;

	public Operation(String id, Instant date, String description, BigDecimal amount) {
		this.id = id;
		this.date = date;
		this.description = description;
		this.amount = amount;
	}

	public Operation(String id, LocalDateTime dateInUtc, String description, BigDecimal amount) {
		this(id, dateInUtc.toInstant(ZoneOffset.UTC), description, amount);
	}

	/**
	 * The same under the key that a database chose.
	 */
	public Operation under(String key) {
		return new Operation(key, this.date, this.description, this.amount);
	}

	/**
	 * The answer to who had it stored.
	 */
	public ResponseEntity<Operation> created() {
		return ResponseEntity.created(URI.create("/api/operations/" + this.id)).body(this);
	}

	@JsonProperty
	public String id() {
		return this.id;
	}

	public Instant date() {
		return this.date;
	}

	public LocalDateTime dateInUtc() {
		return LocalDateTime.ofInstant(this.date, ZoneOffset.UTC);
	}

	/**
	 * As a text, since versions of Jackson write dates in different ways.
	 */
	@JsonProperty("date")
	public String dateAsText() {
		return this.date.toString();
	}

	@JsonProperty
	public String description() {
		return this.description;
	}

	@JsonProperty
	public BigDecimal amount() {
		return this.amount;
	}

}
