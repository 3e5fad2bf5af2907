package lab.operations;

import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

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
	public List<Operation> firstPage() {
		return this.repository.findTop20ByOrderByIdAsc()
			.stream()
			.map(OperationDocument::toOperation)
			.collect(Collectors.toList());
	}

	@Override
	public Optional<Operation> find(String id) {
		return this.repository.findById(id).map(OperationDocument::toOperation);
	}

	@Override
	public Operation add(Operation operation) {
		return this.repository.insert(OperationDocument.of(operation)).toOperation();
	}

	@Override
	public boolean remove(String id) {
		return this.repository.removeById(id) > 0;
	}

}
