package lab.operations;

import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

@Component
@ConditionalOnProperty("lab.mongo-uri")
class MongoOperations implements Operations {

	private final OperationRepository repository;

	MongoOperations(OperationRepository repository) {
		this.repository = repository;
	}

	@Override
	public Flux<Operation> firstPage() {
		return this.repository.findTop20ByOrderByIdAsc().map(OperationDocument::toOperation);
	}

	@Override
	public Mono<Operation> find(String id) {
		return this.repository.findById(id).map(OperationDocument::toOperation);
	}

	@Override
	public Mono<Operation> add(Operation operation) {
		return this.repository.insert(OperationDocument.of(operation)).map(OperationDocument::toOperation);
	}

	@Override
	public Mono<Boolean> remove(String id) {
		return this.repository.removeById(id).map((removed) -> removed > 0);
	}

}
