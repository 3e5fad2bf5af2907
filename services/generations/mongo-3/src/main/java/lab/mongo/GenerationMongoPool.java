package lab.mongo;

import java.util.concurrent.atomic.AtomicInteger;

import com.mongodb.event.ConnectionAddedEvent;
import com.mongodb.event.ConnectionPoolListenerAdapter;
import com.mongodb.event.ConnectionPoolOpenedEvent;
import com.mongodb.event.ConnectionRemovedEvent;
import lab.limits.Pool;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/**
 * The driver shows its pool by events only, which driver 4 has other names for.
 */
@Component
@ConditionalOnProperty("lab.mongo-uri")
class GenerationMongoPool extends ConnectionPoolListenerAdapter implements Pool {

	private final AtomicInteger connections = new AtomicInteger();

	private volatile int max;

	@Override
	public void connectionPoolOpened(ConnectionPoolOpenedEvent event) {
		this.max = event.getSettings().getMaxSize();
	}

	@Override
	public void connectionAdded(ConnectionAddedEvent event) {
		this.connections.incrementAndGet();
	}

	@Override
	public void connectionRemoved(ConnectionRemovedEvent event) {
		this.connections.decrementAndGet();
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
		return this.connections.get();
	}

}
