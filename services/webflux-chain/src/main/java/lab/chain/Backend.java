package lab.chain;

import lab.delay.Delay;
import reactor.core.publisher.Mono;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.core.codec.DecodingException;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.stereotype.Component;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.WebClient;

/**
 * The called service, by WebClient.
 */
@Component
@ConditionalOnProperty("lab.backend-url")
class Backend {

	private final WebClient client;

	Backend(WebClient.Builder client, @Value("${lab.backend-url}") String url) {
		this.client = client.baseUrl(url).build();
	}

	/**
	 * Have it wait. Fails with a WebClientException or CodecException if it does not
	 * answer with that delay.
	 */
	Mono<Delay> ask(Delay delay) {
		return this.client.get()
			.uri("/delay/{millis}", delay.millis())
			.accept(MediaType.APPLICATION_JSON)
			.retrieve()
			.onStatus((status) -> !status.isSameCodeAs(HttpStatus.OK), ClientResponse::createException)
			.bodyToMono(Delay.class)
			.switchIfEmpty(Mono.error(() -> new DecodingException("The backend's answer is empty")));
	}

}
