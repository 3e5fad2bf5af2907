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

	SettingsEndpoint(BehaviourFilter filter) {
		this.filter = filter;
	}

	@WriteOperation
	Map<String, Object> behave(int threads, String fails, String slow, int slowerMs) {
		this.filter.behaviour = new Behaviour(threads, Span.valueOf(fails), Span.valueOf(slow),
				Duration.ofMillis(slowerMs));
		Behaviour now = this.filter.behaviour;
		return Map.of("threads", now.threads(), "fails", now.fails().toString(), "slow", now.slow().toString(),
				"slowerMs", now.slower().toMillis());
	}

}
