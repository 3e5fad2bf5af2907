package lab.user;

import io.r2dbc.spi.Readable;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.r2dbc.core.DatabaseClient;
import org.springframework.stereotype.Component;

@Component
@ConditionalOnProperty("lab.mysql-host")
class Users {

	private static final String BY_EMAIL = "SELECT email, first, last, city, county, age FROM users WHERE email = ?";

	private final DatabaseClient database;

	Users(DatabaseClient database) {
		this.database = database;
	}

	/**
	 * Compares the email once more: a collation may hold different ones to be equal.
	 */
	Mono<User> find(String email) {
		return this.database.sql(BY_EMAIL)
			.bind(0, email)
			.map(Users::user)
			.one()
			.filter((user) -> user.email().equals(email));
	}

	private static User user(Readable row) {
		return new User(row.get("email", String.class), row.get("first", String.class), row.get("last", String.class),
				row.get("city", String.class), row.get("county", String.class), row.get("age", int.class));
	}

}
