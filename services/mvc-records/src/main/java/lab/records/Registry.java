package lab.records;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.cache.annotation.Cacheable;
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
	@Cacheable("requesters")
	public boolean allows(String name) {
		return this.requesters.findByName(name)
			.filter((requester) -> requester.getName().equals(name))
			.map(Requester::isAllowed)
			.orElse(false);
	}

}
