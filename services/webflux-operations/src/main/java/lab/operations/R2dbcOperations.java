package lab.operations;

import java.math.BigDecimal;
import java.time.LocalDateTime;

import io.r2dbc.spi.Readable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.r2dbc.core.DatabaseClient;
import org.springframework.stereotype.Component;

@Component
@ConditionalOnProperty("lab.mysql-host")
class R2dbcOperations implements Operations {

	private final DatabaseClient database;

	R2dbcOperations(DatabaseClient database) {
		this.database = database;
	}

	@Override
	public Flux<Operation> firstPage() {
		return this.database.sql(OperationSql.FIRST_PAGE).map(R2dbcOperations::operation).all();
	}

	@Override
	public Mono<Operation> find(String id) {
		return OperationSql.isKey(id)
				? this.database.sql(OperationSql.BY_ID).bind(0, Long.valueOf(id)).map(R2dbcOperations::operation).one()
				: Mono.empty();
	}

	@Override
	public Mono<Operation> add(Operation operation) {
		return this.database.sql(OperationSql.INSERT)
			.bind(0, operation.dateInUtc())
			.bind(1, operation.description())
			.bind(2, operation.amount())
			.filter((insert) -> insert.returnGeneratedValues("id"))
			.map((row) -> operation.under(String.valueOf(row.get("id", Long.class))))
			.one();
	}

	@Override
	public Mono<Boolean> remove(String id) {
		return OperationSql.isKey(id) ? this.database.sql(OperationSql.DELETE)
			.bind(0, Long.valueOf(id))
			.fetch()
			.rowsUpdated()
			.map((rows) -> rows > 0) : Mono.just(false);
	}

	private static Operation operation(Readable row) {
		return new Operation(String.valueOf(row.get("id", Long.class)), row.get("date", LocalDateTime.class),
				row.get("description", String.class), row.get("amount", BigDecimal.class));
	}

}
