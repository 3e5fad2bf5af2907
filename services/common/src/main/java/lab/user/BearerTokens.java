package lab.user;

import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;

import io.jsonwebtoken.Claims;
import io.jsonwebtoken.JwtException;
import io.jsonwebtoken.JwtParser;
import io.jsonwebtoken.Jwts;
import org.jspecify.annotations.Nullable;

/**
 * Believes tokens that were signed with one key by HS256, that say when they expire, and
 * that have not done so yet.
 */
public final class BearerTokens {

	private static final int MIN_KEY_BYTES = 32;

	private static final Pattern BEARER = Pattern.compile("(?i:Bearer) +(\\S+)");

	private final JwtParser parser;

	public BearerTokens(String base64Key) {
		byte[] key = Base64.getDecoder().decode(base64Key);
		if (key.length < MIN_KEY_BYTES) {
			throw new IllegalArgumentException("The key must have at least " + MIN_KEY_BYTES + " bytes");
		}
		SecretKey hmacKey = new SecretKeySpec(key, "HmacSHA256");
		this.parser = Jwts.parser().verifyWith(hmacKey).sig().clear().add(Jwts.SIG.HS256).and().build();
	}

	/**
	 * The email that the token of an {@code Authorization} header claims.
	 * @throws InvalidTokenException if it is not believed
	 */
	public String email(@Nullable String authorization) {
		Claims claims = claims(token(authorization));
		if (claims.getExpiration() != null && claims.get("email") instanceof String email && !email.isBlank()) {
			return email;
		}
		throw new InvalidTokenException();
	}

	private String token(@Nullable String authorization) {
		if (authorization != null) {
			Matcher bearer = BEARER.matcher(authorization);
			if (bearer.matches()) {
				return bearer.group(1);
			}
		}
		throw new InvalidTokenException();
	}

	private Claims claims(String token) {
		try {
			return this.parser.parseSignedClaims(token).getPayload();
		}
		catch (JwtException | IllegalArgumentException ex) {
			throw new InvalidTokenException();
		}
	}

}
