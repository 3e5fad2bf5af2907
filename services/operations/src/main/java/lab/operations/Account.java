package lab.operations;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonPropertyOrder;

import org.springframework.data.annotation.Id;
import org.springframework.data.mongodb.core.mapping.Document;
import org.springframework.data.mongodb.core.mapping.Field;

/**
 * A user, without the password itself.
 */
@Document(collection = "accounts")
@JsonPropertyOrder({ "login", "email", "activated" })
public final class Account {

	@Id
	private final String login;

	@Field("password_hash")
	private final String passwordHash;

	private final String email;

	private final boolean activated;

	public Account(String login, String passwordHash, String email, boolean activated) {
		this.login = login;
		this.passwordHash = passwordHash;
		this.email = email;
		this.activated = activated;
	}

	@JsonProperty
	public String login() {
		return this.login;
	}

	public String passwordHash() {
		return this.passwordHash;
	}

	@JsonProperty
	public String email() {
		return this.email;
	}

	@JsonProperty
	public boolean activated() {
		return this.activated;
	}

}
