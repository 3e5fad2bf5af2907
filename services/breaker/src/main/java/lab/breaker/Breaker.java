package lab.breaker;

import java.time.Duration;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.stereotype.Component;

/**
 * The circuit breaker before the calls of another service: Resilience4j's own, without a
 * time limit. There is none until the lab asks for one.
 */
@Component
@ConditionalOnProperty("lab.backend-url")
public class Breaker implements MeterBinder {

	private static final String NAME = "backend";

	private static final String REFUSED = "The circuit breaker is open";

	private volatile Mode mode = Mode.OFF;

	private volatile CircuitBreaker circuitBreaker = CircuitBreaker.ofDefaults(NAME);

	/**
	 * The breaker that calls go through, if they do.
	 */
	public @Nullable CircuitBreaker current() {
		return (this.mode != Mode.OFF) ? this.circuitBreaker : null;
	}

	/**
	 * The answer in place of a call that an open breaker did not let through.
	 */
	public ResponseEntity<?> refusal() {
		if (this.mode == Mode.FALLBACK) {
			return ResponseEntity.ok(new Substitute("fallback"));
		}
		return ResponseEntity.of(ProblemDetail.forStatusAndDetail(HttpStatus.SERVICE_UNAVAILABLE, REFUSED)).build();
	}

	/**
	 * Begin anew with a closed one.
	 * @param window the number of the last calls that it looks at, and needs
	 * @param percent of these calls, how many have to fail, or to be slow, for it to open
	 * @param slow how long a slow call takes at least
	 * @param open how long it stays open
	 */
	void use(Mode mode, int window, int percent, Duration slow, Duration open) {
		this.circuitBreaker = CircuitBreaker.of(NAME,
				CircuitBreakerConfig.custom()
					.slidingWindowSize(window)
					.minimumNumberOfCalls(window)
					.failureRateThreshold(percent)
					.slowCallRateThreshold(percent)
					.slowCallDurationThreshold(slow)
					.waitDurationInOpenState(open)
					.writableStackTraceEnabled(false)
					.build());
		this.mode = mode;
	}

	Mode mode() {
		return this.mode;
	}

	CircuitBreakerConfig config() {
		return this.circuitBreaker.getCircuitBreakerConfig();
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		Gauge.builder("lab.breaker.open", this, Breaker::open).register(registry);
	}

	/**
	 * 0 where it is closed, 1 where it is open, and between the two while
	 * it tries a few calls.
	 */
	private double open() {
		return switch (this.circuitBreaker.getState()) {
			case OPEN, FORCED_OPEN -> 1;
			case HALF_OPEN -> 0.5;
			default -> 0;
		};
	}

	enum Mode {

		OFF, REFUSE, FALLBACK

	}

	private record Substitute(String outcome) {
	}

}
