package lab.operations;

import java.util.regex.Pattern;

/**
 * What is asked of MySQL, by whichever driver.
 */
public final class OperationSql {

	public static final String FIRST_PAGE = "SELECT id, date, description, amount FROM operations ORDER BY id LIMIT 20";

	public static final String BY_ID = "SELECT id, date, description, amount FROM operations WHERE id = ?";

	public static final String INSERT = "INSERT INTO operations (date, description, amount) VALUES (?, ?, ?)";

	public static final String DELETE = "DELETE FROM operations WHERE id = ?";

	private static final Pattern KEY = Pattern.compile("[0-9]{1,18}");

	private OperationSql() {
	}

	/**
	 * Whether a row may have this key: MySQL itself would take the digits that a text begins
	 * with.
	 */
	public static boolean isKey(String id) {
		return KEY.matcher(id).matches();
	}

}
