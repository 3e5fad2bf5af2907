package lab.cache;

import java.util.List;

import com.hazelcast.config.Config;
import com.hazelcast.config.JoinConfig;
import com.hazelcast.config.NetworkConfig;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.spi.properties.ClusterProperty;
import io.micrometer.core.instrument.MeterRegistry;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.cache.CacheManager;
import org.springframework.cache.annotation.EnableCaching;
import org.springframework.cache.support.SimpleCacheManager;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;

/**
 * A cache that the nodes of the service share: each keeps the objects of its own part of
 * the keys, and asks the other one for those of the rest. Its advice is around that of
 * transactions, so that a save is committed before it evicts.
 */
@Configuration(proxyBeanMethods = false)
@EnableCaching(order = Ordered.LOWEST_PRECEDENCE - 1)
@ConditionalOnProperty("lab.mysql-host")
class ClusteredCache {

	private static final List<String> NAMES = List.of("records", "requesters");

	/**
	 * This node of the cluster. It listens at its own address alone, and looks for others at
	 * theirs alone.
	 * @param name that of the cluster: nodes of another one are not let in
	 * @param members the address of each node, in the order of their numbers; alone without any
	 * @param node the number of this one, from 1
	 */
	@Bean(destroyMethod = "shutdown")
	HazelcastInstance node(@Value("${lab.cluster:alone}") String name,
			@Value("${lab.cluster-members:127.0.0.1:0}") List<String> members, @Value("${lab.node:1}") int node) {
		Config config = new Config().setClusterName(name);
		config.setProperty(ClusterProperty.PHONE_HOME_ENABLED.getName(), "false");
		config.setProperty(ClusterProperty.LOGGING_TYPE.getName(), "slf4j");
		config.setProperty(ClusterProperty.SOCKET_SERVER_BIND_ANY.getName(), "false");
		config.setProperty(ClusterProperty.SHUTDOWNHOOK_ENABLED.getName(), "false"); // as of the whole service
		config.getMapConfig("default").setBackupCount(0);
		String[] own = members.get(node - 1).split(":");
		config.setProperty("hazelcast.local.localAddress", own[0]);
		NetworkConfig network = config.getNetworkConfig().setPort(Integer.parseInt(own[1])).setPortAutoIncrement(false);
		JoinConfig join = network.getJoin();
		join.getAutoDetectionConfig().setEnabled(false);
		join.getMulticastConfig().setEnabled(false);
		join.getTcpIpConfig().setEnabled(members.size() > 1).setMembers(members);
		return Hazelcast.newHazelcastInstance(config);
	}

	@Bean
	CacheManager caches(HazelcastInstance node, MeterRegistry meters) {
		SimpleCacheManager manager = new SimpleCacheManager();
		manager.setCaches(NAMES.stream().map((name) -> new CountedCache(node, node.getMap(name), meters)).toList());
		return manager;
	}

}
