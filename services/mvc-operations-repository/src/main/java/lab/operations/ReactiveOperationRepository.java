package lab.operations;

import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.data.mongodb.repository.ReactiveMongoRepository;

interface ReactiveOperationRepository extends ReactiveMongoRepository<OperationDocument, String> {

	Flux<OperationDocument> findTop20ByOrderByIdAsc();

	Mono<Long> removeById(String id);

}
