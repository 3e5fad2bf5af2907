package lab.operations;

import java.util.List;
import java.util.Optional;

import org.springframework.data.mongodb.repository.MongoRepository;

/**
 * Declares what Spring Data has had by other names, or in other forms, in some generation.
 */
interface OperationRepository extends MongoRepository<OperationDocument, String> {

	Optional<OperationDocument> findById(String id);

	List<OperationDocument> findTop20ByOrderByIdAsc();

	long removeById(String id);

}
