package lab.operations;

import io.r2dbc.spi.Readable;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.r2dbc.core.DatabaseClient;
import org.springframework.stereotype.Component;

@Component
@ConditionalOnProperty("lab.mysql-host")
class R2dbcAccounts implements Accounts {

	private final DatabaseClient database;

	R2dbcAccounts(DatabaseClient database) {
		this.database = database;
	}

	@Override
	public Mono<Account> find(String login) {
		return this.database.sql(AccountSql.BY_LOGIN).bind(0, login).map(R2dbcAccounts::account).one();
	}

	private static Account account(Readable row) {
		return new Account(row.get("login", String.class), row.get("password_hash", String.class),
				row.get("email", String.class), row.get("activated", boolean.class));
	}

}
