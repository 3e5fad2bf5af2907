package lab.mongo;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import com.mongodb.MongoClientSettings;
import com.mongodb.connection.ConnectionId;
import com.mongodb.event.ConnectionClosedEvent;
import com.mongodb.event.ConnectionPoolCreatedEvent;
import com.mongodb.event.ConnectionPoolListener;
import com.mongodb.event.ConnectionReadyEvent;
import lab.limits.Pool;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/**
 * The driver shows its pool by events only.
 */
@Component
@ConditionalOnProperty("lab.mongo-uri")
class MongoPool implements ConnectionPoolListener, Pool {

	private final Set<ConnectionId> connections = ConcurrentHashMap.newKeySet();

	private volatile int max;

	void customize(MongoClientSettings.Builder client) {
		client.applyToConnectionPoolSettings((pool) -> pool.addConnectionPoolListener(this));
	}

	@Override
	public void connectionPoolCreated(ConnectionPoolCreatedEvent event) {
		this.max = event.getSettings().getMaxSize();
	}

	@Override
	public void connectionReady(ConnectionReadyEvent event) {
		this.connections.add(event.getConnectionId());
	}

	@Override
	public void connectionClosed(ConnectionClosedEvent event) {
		this.connections.remove(event.getConnectionId());
	}

	@Override
	public String to() {
		return "mongo";
	}

	@Override
	public int max() {
		return this.max;
	}

	@Override
	public int live() {
		return this.connections.size();
	}

}
