package lab.backend;

import java.time.Duration;
import java.util.Map;

import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.stereotype.Component;

/**
 * {@code POST /actuator/settings}: how this service behaves from now on; answers what is
 * in force then.
 */
@Component
@Endpoint(id = "settings")
class SettingsEndpoint {

	private final BehaviourFilter filter;

	private final Connections connections;

	SettingsEndpoint(BehaviourFilter filter, Connections connections) {
		this.filter = filter;
		this.connections = connections;
	}

	@WriteOperation
	Map<String, Object> behave(int threads, String fails, String slow, int slowerMs, String dead) {
		Behaviour now = new Behaviour(threads, Span.valueOf(fails), Span.valueOf(slow), Duration.ofMillis(slowerMs),
				Span.valueOf(dead));
		this.filter.behaviour = now;
		this.connections.follow(now);
		return Map.of("threads", now.threads(), "fails", now.fails().toString(), "slow", now.slow().toString(),
				"slowerMs", now.slower().toMillis(), "dead", now.dead().toString());
	}

}
