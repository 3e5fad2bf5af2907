package lab.limits;

import java.util.Map;

import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.stereotype.Component;

/**
 * {@code GET /actuator/limits}.
 */
@Component
@Endpoint(id = "limits")
class GenerationLimitsEndpoint {

	private final GenerationLimits reading;

	GenerationLimitsEndpoint(GenerationLimits reading) {
		this.reading = reading;
	}

	@ReadOperation
	public Map<String, Object> limits() {
		return this.reading.limits();
	}

}
