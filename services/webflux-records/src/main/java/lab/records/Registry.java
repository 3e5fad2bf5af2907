package lab.records;

import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/**
 * Knows who may ask for records.
 */
@Component
@ConditionalOnProperty("lab.mysql-host")
class Registry {

	private final RequesterRepository requesters;

	Registry(RequesterRepository requesters) {
		this.requesters = requesters;
	}

	/**
	 * Compares the name once more: a collation may hold different ones to be equal.
	 */
	public Mono<Boolean> allows(String name) {
		return this.requesters.findByName(name)
			.filter((requester) -> requester.name().equals(name))
			.map(Requester::allowed)
			.defaultIfEmpty(false);
	}

}
