package lab.operations;

/**
 * What is asked of MySQL about users, by whichever driver.
 */
public final class AccountSql {

	public static final String BY_LOGIN = "SELECT login, password_hash, email, activated FROM accounts WHERE login = ?";

	private AccountSql() {
	}

}
