package lab.operations;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * What a user logs in with.
 */
public final class Credentials {

	private final String username;

	private final String password;

	private final boolean rememberMe;

	@JsonCreator
	Credentials(@JsonProperty("username") String username, @JsonProperty("password") String password,
			@JsonProperty("rememberMe") Boolean rememberMe) {
		this.username = username;
		this.password = password;
		this.rememberMe = Boolean.TRUE.equals(rememberMe);
	}

	public String username() {
		return this.username;
	}

	public String password() {
		return this.password;
	}

	public boolean rememberMe() {
		return this.rememberMe;
	}

	public void check() {
		if (this.username == null || this.username.isEmpty() || this.password == null || this.password.isEmpty()) {
			throw Refusal.malformed();
		}
	}

}
