package lab.records;

import reactor.core.publisher.Mono;

import org.springframework.data.repository.Repository;

interface RequesterRepository extends Repository<Requester, String> {

	Mono<Requester> findByName(String name);

}
