package lab.breaker;

import java.time.Duration;
import java.util.Map;

import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;

import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/**
 * {@code POST /actuator/settings}: the circuit breaker from now on; answers what is in
 * force then, with what follows from it or is Resilience4j's own.
 */
@Component
@Endpoint(id = "settings")
@ConditionalOnProperty("lab.backend-url")
class SettingsEndpoint {

	private final Breaker breaker;

	SettingsEndpoint(Breaker breaker) {
		this.breaker = breaker;
	}

	@WriteOperation
	Map<String, Object> use(Breaker.Mode mode, int window, int percent, int slowMs, int openMs) {
		this.breaker.use(mode, window, percent, Duration.ofMillis(slowMs), Duration.ofMillis(openMs));
		CircuitBreakerConfig config = this.breaker.config();
		return Map.of("mode", this.breaker.mode().name().toLowerCase(), "window", config.getSlidingWindowSize(),
				"percent", (int) config.getFailureRateThreshold(), "slowMs",
				config.getSlowCallDurationThreshold().toMillis(), "openMs",
				config.getWaitIntervalFunctionInOpenState().apply(1), "leastCalls", config.getMinimumNumberOfCalls(),
				"slowPercent", (int) config.getSlowCallRateThreshold(), "trialCalls",
				config.getPermittedNumberOfCallsInHalfOpenState());
	}

}
