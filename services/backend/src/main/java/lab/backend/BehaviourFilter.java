package lab.backend;

import java.time.Duration;

import reactor.core.publisher.Mono;

import org.springframework.http.HttpStatus;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;

/**
 * Has every call meet the behaviour that the lab has asked for. The filters of an
 * application are those of its management port too, where nothing is to fail.
 */
@Component
class BehaviourFilter implements WebFilter {

	private static final String CALLED = "/delay/";

	private final Connections connections;

	volatile Behaviour behaviour = Behaviour.UNLIMITED;

	BehaviourFilter(Connections connections) {
		this.connections = connections;
	}

	@Override
	public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
		if (!exchange.getRequest().getPath().value().startsWith(CALLED)) {
			return chain.filter(exchange);
		}
		Behaviour now = this.behaviour;
		if (now.begin()) {
			this.connections.begin(now);
		}
		Duration elapsed = now.elapsed();
		if (now.fails(elapsed)) {
			exchange.getResponse().setStatusCode(HttpStatus.SERVICE_UNAVAILABLE);
			return exchange.getResponse().setComplete();
		}
		return now.serve(elapsed, chain.filter(exchange));
	}

}
