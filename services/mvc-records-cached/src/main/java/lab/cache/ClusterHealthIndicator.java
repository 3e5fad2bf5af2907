package lab.cache;

import com.hazelcast.core.HazelcastInstance;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;
import org.springframework.stereotype.Component;

/**
 * Says that the service is up only once all nodes have found one another: before, each would
 * cache by itself. That one is lost later makes the others no less able to answer.
 */
@Component
@ConditionalOnProperty("lab.mysql-host")
class ClusterHealthIndicator extends AbstractHealthIndicator implements MeterBinder {

	private final HazelcastInstance node;

	private final int nodes;

	private volatile boolean complete;

	ClusterHealthIndicator(HazelcastInstance node, @Value("${lab.nodes:1}") int nodes) {
		this.node = node;
		this.nodes = nodes;
	}

	@Override
	protected void doHealthCheck(Health.Builder builder) {
		this.complete |= found() >= this.nodes;
		builder.status(this.complete ? Status.UP : Status.DOWN);
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		Gauge.builder("lab.cluster.nodes", this, ClusterHealthIndicator::found).register(registry);
	}

	private int found() {
		return this.node.getCluster().getMembers().size();
	}

}
