package lab.records;

import java.util.Optional;

import org.springframework.data.repository.Repository;

interface RequesterRepository extends Repository<Requester, String> {

	Optional<Requester> findByName(String name);

}
