package lab.chain;

import java.io.IOException;

import lab.delay.Delay;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.http.HttpRequest;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.stereotype.Component;
import org.springframework.web.client.RestClient;
import org.springframework.web.client.RestClient.RequestHeadersSpec.ConvertibleClientHttpResponse;

@Component
@ConditionalOnProperty("lab.backend-url")
@ConditionalOnProperty(name = "lab.client", havingValue = "rest-client", matchIfMissing = true)
class RestClientBackend implements Backend {

	private final RestClient client;

	RestClientBackend(RestClient.Builder client, @Value("${lab.backend-url}") String url) {
		this.client = client.baseUrl(url).build();
	}

	@Override
	public Delay ask(Delay delay) {
		return this.client.get()
			.uri("/delay/{millis}", delay.millis())
			.accept(MediaType.APPLICATION_JSON)
			.exchange(RestClientBackend::answer);
	}

	private static Delay answer(HttpRequest request, ConvertibleClientHttpResponse response) throws IOException {
		Delay delay = response.getStatusCode().isSameCodeAs(HttpStatus.OK) ? response.bodyTo(Delay.class) : null;
		if (delay == null) {
			throw response.createException();
		}
		return delay;
	}

}
