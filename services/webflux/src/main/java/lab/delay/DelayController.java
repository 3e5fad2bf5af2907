package lab.delay;

import java.time.Duration;

import reactor.core.publisher.Mono;

import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

@RestController
class DelayController {

	@GetMapping("/delay/{millis}")
	Mono<Delay> delay(@PathVariable("millis") Delay delay) {
		return Mono.delay(Duration.ofMillis(delay.millis())).thenReturn(delay);
	}

	@ExceptionHandler
	ProblemDetail notAccepted(IllegalArgumentException ex) {
		return ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST, ex.getMessage());
	}

}
