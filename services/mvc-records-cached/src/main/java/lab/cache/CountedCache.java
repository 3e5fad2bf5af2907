package lab.cache;

import com.hazelcast.cluster.Member;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.map.IMap;
import com.hazelcast.partition.PartitionService;
import com.hazelcast.spring.cache.HazelcastCache;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import org.jspecify.annotations.Nullable;

/**
 * Counts where objects were found: at this node, at another one, which is a hop over the
 * network, or nowhere, so that the database is asked.
 */
class CountedCache extends HazelcastCache {

	private final PartitionService partitions;

	private final Counter here;

	private final Counter hops;

	private final Counter misses;

	CountedCache(HazelcastInstance node, IMap<Object, Object> objects, MeterRegistry meters) {
		super(objects);
		this.partitions = node.getPartitionService();
		this.here = meters.counter("lab.cache.here");
		this.hops = meters.counter("lab.cache.hops");
		this.misses = meters.counter("lab.cache.misses");
	}

	@Override
	public @Nullable ValueWrapper get(Object key) {
		ValueWrapper found = super.get(key);
		Counter counter = (found == null) ? this.misses : isHere(key) ? this.here : this.hops;
		counter.increment();
		return found;
	}

	private boolean isHere(Object key) {
		Member owner = this.partitions.getPartition(key).getOwner();
		return owner != null && owner.localMember();
	}

}
