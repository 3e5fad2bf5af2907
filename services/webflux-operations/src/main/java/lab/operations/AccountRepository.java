package lab.operations;

import reactor.core.publisher.Mono;

import org.springframework.data.mongodb.repository.ReactiveMongoRepository;

interface AccountRepository extends ReactiveMongoRepository<Account, String> {

	Mono<Account> findByLogin(String login);

}
