package lab.operations;

import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Date;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;

import io.jsonwebtoken.Claims;
import io.jsonwebtoken.JwtException;
import io.jsonwebtoken.JwtParser;
import io.jsonwebtoken.Jwts;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/**
 * Signs the tokens of users who have logged in, by HS256, and believes no others.
 */
@Component
@ConditionalOnProperty("lab.jwt-key")
public class Tokens {

	private static final int MIN_KEY_BYTES = 32;

	private static final Duration VALID = Duration.ofDays(1);

	private static final Duration VALID_IF_REMEMBERED = Duration.ofDays(30);

	private static final Pattern BEARER = Pattern.compile("(?i:Bearer) +(\\S+)");

	private final SecretKey key;

	private final JwtParser parser;

	Tokens(@Value("${lab.jwt-key}") String base64Key) {
		byte[] bytes = Base64.getDecoder().decode(base64Key);
		if (bytes.length < MIN_KEY_BYTES) {
			throw new IllegalArgumentException("The key must have at least " + MIN_KEY_BYTES + " bytes");
		}
		this.key = new SecretKeySpec(bytes, "HmacSHA256");
		this.parser = Jwts.parser().verifyWith(this.key).sig().clear().add(Jwts.SIG.HS256).and().build();
	}

	public IdToken signed(Credentials credentials) {
		Instant end = Instant.now().plus(credentials.rememberMe() ? VALID_IF_REMEMBERED : VALID);
		return new IdToken(Jwts.builder()
			.subject(credentials.username())
			.expiration(Date.from(end))
			.signWith(this.key, Jwts.SIG.HS256)
			.compact());
	}

	/**
	 * The login of the user to whom a header's token was given; refused without one.
	 */
	public String login(String authorization) {
		Matcher bearer = BEARER.matcher((authorization != null) ? authorization : "");
		if (!bearer.matches()) {
			throw Refusal.unauthorized();
		}
		try {
			Claims claims = this.parser.parseSignedClaims(bearer.group(1)).getPayload();
			if (claims.getExpiration() != null && claims.getSubject() != null) {
				return claims.getSubject();
			}
		}
		catch (JwtException | IllegalArgumentException ex) {
			// Whoever forged it would learn from the reason.
		}
		throw Refusal.unauthorized();
	}

}
