package lab.mongo.standin;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.bson.Document;
import io.netty.channel.Channel;

/**
 * Adds to {@code serverStatus} every command, as MongoDB counts them in
 * {@code metrics.commands}.
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
		Document commands = new Document();
		this.commands.forEach((command, count) -> commands.put(command, new Document("total", count.sum())));
		((Document) status.get("metrics")).put("commands", commands);
	}

}
