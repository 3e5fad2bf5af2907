package lab.operations;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * What a user who has logged in sends along from then on.
 */
public final class IdToken {

	private final String value;

	public IdToken(String value) {
		this.value = value;
	}

	@JsonProperty("id_token")
	public String value() {
		return this.value;
	}

}
