package lab.operations;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Optional;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.GeneratedKeyHolder;
import org.springframework.jdbc.support.KeyHolder;
import org.springframework.stereotype.Component;

@Component
@ConditionalOnProperty("lab.mysql-host")
class JdbcOperations implements Operations {

	private final JdbcTemplate database;

	JdbcOperations(JdbcTemplate database) {
		this.database = database;
	}

	@Override
	public List<Operation> firstPage() {
		return this.database.query(OperationSql.FIRST_PAGE, JdbcOperations::operation);
	}

	@Override
	public Optional<Operation> find(String id) {
		return OperationSql.isKey(id)
				? this.database.query(OperationSql.BY_ID, JdbcOperations::operation, Long.valueOf(id)).stream().findFirst()
				: Optional.empty();
	}

	@Override
	public Operation add(Operation operation) {
		KeyHolder key = new GeneratedKeyHolder();
		this.database.update((connection) -> {
			PreparedStatement insert = connection.prepareStatement(OperationSql.INSERT, Statement.RETURN_GENERATED_KEYS);
			insert.setObject(1, operation.dateInUtc());
			insert.setString(2, operation.description());
			insert.setBigDecimal(3, operation.amount());
			return insert;
		}, key);
		return operation.under(String.valueOf(key.getKey()));
	}

	@Override
	public boolean remove(String id) {
		return OperationSql.isKey(id) && this.database.update(OperationSql.DELETE, Long.valueOf(id)) > 0;
	}

	private static Operation operation(ResultSet row, int number) throws SQLException {
		return new Operation(row.getString("id"), row.getObject("date", LocalDateTime.class),
				row.getString("description"), row.getBigDecimal("amount"));
	}

}
