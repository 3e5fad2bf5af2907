package lab.mysql;

import io.r2dbc.spi.Connection;
import io.r2dbc.spi.ConnectionFactory;
import io.r2dbc.spi.ConnectionFactoryMetadata;
import reactor.core.publisher.Mono;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.target.SingletonTargetSource;

/**
 * Hides from the pool that the driver wants to hear of connections that come back: it
 * would roll back, and pings the server where there is nothing to roll back, one more
 * round trip a request. The pool rolls back by itself what was begun.
 */
class QuietConnectionFactory implements ConnectionFactory {

	private final ConnectionFactory driver;

	QuietConnectionFactory(ConnectionFactory driver) {
		this.driver = driver;
	}

	@Override
	public Mono<Connection> create() {
		return Mono.from(this.driver.create())
			.map((connection) -> ProxyFactory.getProxy(Connection.class, new SingletonTargetSource(connection)));
	}

	@Override
	public ConnectionFactoryMetadata getMetadata() {
		return this.driver.getMetadata();
	}

}
