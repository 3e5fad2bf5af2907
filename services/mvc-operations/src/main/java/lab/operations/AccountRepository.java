package lab.operations;

import java.util.Optional;

import org.springframework.data.mongodb.repository.MongoRepository;

interface AccountRepository extends MongoRepository<Account, String> {

	Optional<Account> findByLogin(String login);

}
