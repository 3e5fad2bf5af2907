package lab.user;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Optional;

import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

/**
 * Waits for MySQL on threads of their own, so that the event loops do not.
 */
@Component
@ConditionalOnProperty("lab.mysql-host")
class Users {

	private static final String BY_EMAIL = "SELECT email, first, last, city, county, age FROM users WHERE email = ?";

	private final JdbcClient database;

	Users(JdbcClient database) {
		this.database = database;
	}

	/**
	 * Compares the email once more: a collation may hold different ones to be equal.
	 */
	Mono<User> find(String email) {
		return Mono.fromCallable(() -> select(email).orElse(null))
			.subscribeOn(Schedulers.boundedElastic())
			.filter((user) -> user.email().equals(email));
	}

	private Optional<User> select(String email) {
		return this.database.sql(BY_EMAIL).param(email).query(Users::user).optional();
	}

	private static User user(ResultSet row, int number) throws SQLException {
		return new User(row.getString("email"), row.getString("first"), row.getString("last"), row.getString("city"),
				row.getString("county"), row.getInt("age"));
	}

}
