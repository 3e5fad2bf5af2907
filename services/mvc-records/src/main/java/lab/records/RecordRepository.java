package lab.records;

import java.util.List;
import java.util.Optional;

import org.springframework.data.repository.Repository;

interface RecordRepository extends Repository<StoredRecord, String> {

	List<StoredRecord> findByPartnerAndCategoryOrderById(String partner, String category);

	Optional<StoredRecord> findById(String id);

}
