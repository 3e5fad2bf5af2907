package lab.mongo.standin;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.bson.Document;
import io.netty.channel.Channel;

/**
 * Adds to {@code serverStatus} what MongoDB counts: {@code opcounters}, and every command
 * in {@code metrics.commands}.
 */
class CountingBackend extends MemoryBackend {

	private final Map<String, LongAdder> commands = new ConcurrentHashMap<>();

	@Override
	public Document handleCommand(Channel channel, String database, String command, Document query) {
		this.commands.computeIfAbsent(command, (name) -> new LongAdder()).increment();
		Document answer = super.handleCommand(channel, database, command, query);
		if (command.equals("serverStatus")) {
			count(answer);
		}
		return answer;
	}

	private void count(Document status) {
		Map<String, Long> counts = new TreeMap<>();
		this.commands.forEach((command, count) -> counts.put(command, count.sum()));
		status.put("opcounters", opcounters(counts));
		Document metrics = (Document) status.get("metrics");
		Document commands = new Document();
		counts.forEach((command, count) -> commands.put(command, new Document("total", count)));
		metrics.put("commands", commands);
	}

	private static Document opcounters(Map<String, Long> counts) {
		Document counters = new Document();
		counters.put("insert", counts.getOrDefault("insert", 0L));
		counters.put("query", counts.getOrDefault("find", 0L));
		counters.put("update", counts.getOrDefault("update", 0L));
		counters.put("delete", counts.getOrDefault("delete", 0L));
		counters.put("getmore", counts.getOrDefault("getMore", 0L));
		List<String> named = List.of("insert", "find", "update", "delete", "getMore");
		counters.put("command",
				counts.entrySet()
					.stream()
					.filter((entry) -> !named.contains(entry.getKey()))
					.mapToLong(Map.Entry::getValue)
					.sum());
		return counters;
	}

}
