package lab.mysql;

import java.time.Duration;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.micrometer.core.instrument.MeterRegistry;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.simple.JdbcClient;

/**
 * A pool whose connections live as long as the process, where {@code lab.mysql-host}
 * names a server. Both drivers send a statement and its parameters as one command: when
 * the server prepares statements, R2DBC sends it a second one a request to reset them.
 * Without {@code lab.pool} the pool has the size that it has by itself.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnProperty("lab.mysql-host")
class MysqlConfiguration {

	/**
	 * Otherwise a connection that has rested for half a second costs a ping, one more round
	 * trip a request, which the other pool's do not.
	 */
	static {
		System.setProperty("com.zaxxer.hikari.aliveBypassWindowMs", String.valueOf(Long.MAX_VALUE));
	}

	@Bean
	HikariDataSource connectionPool(@Value("${lab.mysql-host}") String host, @Value("${lab.mysql-port}") int port,
			@Value("${lab.mysql-user}") String user, @Value("${lab.mysql-password}") String password,
			@Value("${lab.pool:#{null}}") @Nullable Integer size, @Value("${lab.pool-wait}") Duration wait,
			MeterRegistry meters) {
		HikariConfig config = new HikariConfig();
		config.setPoolName("lab");
		config.setJdbcUrl("jdbc:mysql://%s:%d/lab".formatted(host, port));
		config.setUsername(user);
		config.setPassword(password);
		config.addDataSourceProperty("sslMode", "PREFERRED");
		if (size != null) {
			config.setMinimumIdle(size);
			config.setMaximumPoolSize(size);
		}
		config.setConnectionTimeout(wait.toMillis());
		config.setMaxLifetime(0);
		config.setKeepaliveTime(0);
		config.setInitializationFailTimeout(-1);
		config.setMetricRegistry(meters);
		return new HikariDataSource(config);
	}

	@Bean
	MysqlPool mysqlPool(HikariDataSource connections) {
		return new MysqlPool(connections);
	}

	@Bean
	JdbcClient databaseClient(HikariDataSource connections) {
		return JdbcClient.create(connections);
	}

	@Bean
	MysqlHealthIndicator mysqlHealthIndicator(JdbcClient database, MysqlPool pool) {
		return new MysqlHealthIndicator(database, pool);
	}

}
