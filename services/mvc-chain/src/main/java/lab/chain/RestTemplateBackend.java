package lab.chain;

import lab.delay.Delay;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.restclient.RestTemplateBuilder;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.RequestEntity;
import org.springframework.http.ResponseEntity;
import org.springframework.stereotype.Component;
import org.springframework.web.client.RestClientException;
import org.springframework.web.client.RestTemplate;

@Component
@ConditionalOnProperty("lab.backend-url")
@ConditionalOnProperty(name = "lab.client", havingValue = "rest-template")
class RestTemplateBackend implements Backend {

	private final RestTemplate client;

	RestTemplateBackend(RestTemplateBuilder client, @Value("${lab.backend-url}") String url) {
		this.client = client.rootUri(url).build();
	}

	@Override
	public Delay ask(Delay delay) {
		RequestEntity<Void> request = RequestEntity.get("/delay/{millis}", delay.millis())
			.accept(MediaType.APPLICATION_JSON)
			.build();
		ResponseEntity<Delay> response = this.client.exchange(request, Delay.class);
		if (!response.getStatusCode().isSameCodeAs(HttpStatus.OK) || response.getBody() == null) {
			throw new RestClientException("The backend answered with " + response.getStatusCode());
		}
		return response.getBody();
	}

}
