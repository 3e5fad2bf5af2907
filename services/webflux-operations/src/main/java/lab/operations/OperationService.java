package lab.operations;

import java.util.List;

import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Service;

/**
 * Shows and changes operations, for whoever has logged in.
 */
@Service
@ConditionalOnProperty("lab.jwt-key")
class OperationService {

	private final Operations operations;

	private final Tokens tokens;

	OperationService(Operations operations, Tokens tokens) {
		this.operations = operations;
		this.tokens = tokens;
	}

	Mono<List<Operation>> firstPage(String authorization) {
		this.tokens.login(authorization);
		return this.operations.firstPage().collectList();
	}

	Mono<Operation> find(String authorization, String id) {
		this.tokens.login(authorization);
		return this.operations.find(id).switchIfEmpty(Mono.error(Refusal::notFound));
	}

	Mono<Operation> add(String authorization, NewOperation operation) {
		this.tokens.login(authorization);
		return this.operations.add(operation.checked());
	}

	Mono<Void> remove(String authorization, String id) {
		this.tokens.login(authorization);
		return this.operations.remove(id).filter((removed) -> removed).switchIfEmpty(Mono.error(Refusal::notFound)).then();
	}

}
