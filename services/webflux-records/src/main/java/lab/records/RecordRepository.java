package lab.records;

import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

import org.springframework.data.repository.Repository;

interface RecordRepository extends Repository<StoredRecord, String> {

	Flux<StoredRecord> findByPartnerAndCategoryOrderById(String partner, String category);

	Mono<StoredRecord> findById(String id);

	Mono<StoredRecord> save(StoredRecord changed);

}
