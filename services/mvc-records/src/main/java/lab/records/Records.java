package lab.records;

import java.util.List;
import java.util.Optional;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.cache.annotation.CacheEvict;
import org.springframework.cache.annotation.Cacheable;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

/**
 * Finds and saves records. What is said of a cache holds where there is one.
 */
@Component
@ConditionalOnProperty("lab.mysql-host")
class Records {

	private final RecordRepository records;

	Records(RecordRepository records) {
		this.records = records;
	}

	@Cacheable("records")
	public List<StoredRecord> find(Lookup lookup) {
		return this.records.findByPartnerAndCategoryOrderById(lookup.partner(), lookup.category());
	}

	@Transactional
	@CacheEvict(cacheNames = "records", key = "#result.lookup()", condition = "#result != null")
	public @Nullable StoredRecord save(String id, Change change) {
		Optional<StoredRecord> found = this.records.findById(id);
		found.ifPresent((stored) -> stored.setContent(change.content()));
		return found.orElse(null);
	}

}
