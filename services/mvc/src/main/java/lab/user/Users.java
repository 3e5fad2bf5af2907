package lab.user;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Optional;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

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
	Optional<User> find(String email) {
		return this.database.sql(BY_EMAIL)
			.param(email)
			.query(Users::user)
			.optional()
			.filter((user) -> user.email().equals(email));
	}

	private static User user(ResultSet row, int number) throws SQLException {
		return new User(row.getString("email"), row.getString("first"), row.getString("last"), row.getString("city"),
				row.getString("county"), row.getInt("age"));
	}

}
