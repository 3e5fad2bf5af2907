package lab.mysql;

import java.time.Duration;

import io.asyncer.r2dbc.mysql.MySqlConnectionConfiguration;
import io.asyncer.r2dbc.mysql.MySqlConnectionFactory;
import io.asyncer.r2dbc.mysql.constant.SslMode;
import io.r2dbc.pool.ConnectionPool;
import io.r2dbc.pool.ConnectionPoolConfiguration;
import io.r2dbc.spi.ConnectionFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.r2dbc.core.DatabaseClient;

/**
 * A pool whose connections live as long as the process, where {@code lab.mysql-host}
 * names a server. Both drivers send a statement and its parameters as one command: when
 * the server prepares statements, R2DBC sends it a second one a request to reset them.
 * Without {@code lab.pool} the pool has the size that it has by itself.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnProperty("lab.mysql-host")
class MysqlConfiguration {

	private static final Duration FOREVER = Duration.ofMillis(-1);

	@Bean
	ConnectionPool connectionPool(@Value("${lab.mysql-host}") String host, @Value("${lab.mysql-port}") int port,
			@Value("${lab.mysql-user}") String user, @Value("${lab.mysql-password}") String password,
			@Value("${lab.pool:#{null}}") @Nullable Integer size, @Value("${lab.pool-wait}") Duration wait) {
		ConnectionFactory mysql = MySqlConnectionFactory.from(MySqlConnectionConfiguration.builder()
			.host(host)
			.port(port)
			.user(user)
			.password(password)
			.database("lab")
			.sslMode(SslMode.PREFERRED)
			.build());
		ConnectionPoolConfiguration.Builder pool = ConnectionPoolConfiguration
			.builder(new QuietConnectionFactory(mysql))
			.name("lab")
			.maxAcquireTime(wait)
			.maxIdleTime(FOREVER);
		if (size != null) {
			pool.initialSize(size).maxSize(size);
		}
		return new ConnectionPool(pool.build());
	}

	@Bean
	MysqlPool mysqlPool(ConnectionPool connections) {
		return new MysqlPool(connections);
	}

	@Bean
	DatabaseClient databaseClient(ConnectionPool connections) {
		return DatabaseClient.create(connections);
	}

	@Bean
	MysqlHealthIndicator mysqlHealthIndicator(DatabaseClient database) {
		return new MysqlHealthIndicator(database);
	}

}
