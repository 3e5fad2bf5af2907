package lab.limits;

import java.util.Map;

import org.springframework.boot.actuate.endpoint.AbstractEndpoint;
import org.springframework.stereotype.Component;

/**
 * {@code GET /actuator/limits}, where an endpoint had one operation, {@code invoke}.
 */
@Component
class GenerationLimitsEndpoint extends AbstractEndpoint<Map<String, Object>> {

	private final GenerationLimits reading;

	GenerationLimitsEndpoint(GenerationLimits reading) {
		super("limits", false, true);
		this.reading = reading;
	}

	@Override
	public Map<String, Object> invoke() {
		return this.reading.limits();
	}

}
