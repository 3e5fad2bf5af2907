package lab.records;

import java.util.List;

import reactor.core.publisher.Mono;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

/**
 * Finds and saves records.
 */
@Component
@ConditionalOnProperty("lab.mysql-host")
class Records {

	private final RecordRepository records;

	Records(RecordRepository records) {
		this.records = records;
	}

	public Mono<List<StoredRecord>> find(Lookup lookup) {
		return this.records.findByPartnerAndCategoryOrderById(lookup.partner(), lookup.category()).collectList();
	}

	@Transactional
	public Mono<StoredRecord> save(String id, Change change) {
		return this.records.findById(id).map((stored) -> stored.withContent(change.content())).flatMap(this.records::save);
	}

}
