package lab.operations;

import java.util.List;

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

	List<Operation> firstPage(String authorization) {
		this.tokens.login(authorization);
		return this.operations.firstPage();
	}

	Operation find(String authorization, String id) {
		this.tokens.login(authorization);
		return this.operations.find(id).orElseThrow(Refusal::notFound);
	}

	Operation add(String authorization, NewOperation operation) {
		this.tokens.login(authorization);
		return this.operations.add(operation.checked());
	}

	void remove(String authorization, String id) {
		this.tokens.login(authorization);
		if (!this.operations.remove(id)) {
			throw Refusal.notFound();
		}
	}

}
