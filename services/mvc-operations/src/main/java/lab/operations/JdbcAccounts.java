package lab.operations;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Optional;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Component;

@Component
@ConditionalOnProperty("lab.mysql-host")
class JdbcAccounts implements Accounts {

	private final JdbcTemplate database;

	JdbcAccounts(JdbcTemplate database) {
		this.database = database;
	}

	@Override
	public Optional<Account> find(String login) {
		return this.database.query(AccountSql.BY_LOGIN, JdbcAccounts::account, login).stream().findFirst();
	}

	private static Account account(ResultSet row, int number) throws SQLException {
		return new Account(row.getString("login"), row.getString("password_hash"), row.getString("email"),
				row.getBoolean("activated"));
	}

}
