package lab.entity;

import java.util.List;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.domain.Sort;
import org.springframework.stereotype.Component;

/**
 * By a repository of Spring Data, which updates what it has found by saving it.
 */
@Component
@ConditionalOnProperty(name = "lab.access", havingValue = "repository")
class RepositoryAccess implements EntityAccess {

	private final EntityRepository entities;

	RepositoryAccess(EntityRepository entities) {
		this.entities = entities;
	}

	@Override
	public void add(Entity entity) {
		this.entities.insert(entity);
	}

	@Override
	public void addMany(List<Entity> entities) {
		this.entities.insert(entities);
	}

	@Override
	public @Nullable Entity get(String id) {
		return this.entities.findById(id).orElse(null);
	}

	@Override
	public List<Entity> getMany(List<String> ids) {
		return this.entities.findAllById(ids);
	}

	@Override
	public long update(String id, Content content) {
		return this.entities.findById(id).map((found) -> this.entities.save(found.with(content))).isPresent() ? 1 : 0;
	}

	@Override
	public long updateMany(List<String> ids, Content content) {
		return saveAll(this.entities.findAllById(ids), content);
	}

	@Override
	public long updateByInteger(int integer, Content content) {
		return saveAll(this.entities.findByInteger(integer), content);
	}

	private long saveAll(List<Entity> found, Content content) {
		return this.entities.saveAll(found.stream().map((entity) -> entity.with(content)).toList()).size();
	}

	@Override
	public long remove(String id) {
		return this.entities.removeById(id);
	}

	@Override
	public List<Entity> collect(Selection selection) {
		if (selection.batch() > 0) {
			try (Stream<Entity> found = stream(selection)) {
				return found.toList();
			}
		}
		Integer integer = selection.integer();
		return (integer != null) ? this.entities.findByInteger(integer) : this.entities.findAll();
	}

	@Override
	public Stream<Entity> stream(Selection selection) {
		Integer integer = selection.integer();
		return switch (selection.batch()) {
			case 100 -> (integer != null) ? this.entities.streamBatchesOf100ByInteger(integer)
					: this.entities.streamBatchesOf100By();
			case 1000 -> (integer != null) ? this.entities.streamBatchesOf1000ByInteger(integer)
					: this.entities.streamBatchesOf1000By();
			default -> (integer != null) ? this.entities.streamByInteger(integer) : this.entities.streamBy();
		};
	}

	@Override
	public List<Entity> page(Selection selection, int number) {
		PageRequest page = PageRequest.of(number, Selection.PAGE, Sort.by("id"));
		Integer integer = selection.integer();
		return switch (selection.batch()) {
			case 100 -> (integer != null) ? this.entities.findBatchesOf100ByInteger(integer, page)
					: this.entities.findBatchesOf100By(page);
			case 1000 -> (integer != null) ? this.entities.findBatchesOf1000ByInteger(integer, page)
					: this.entities.findBatchesOf1000By(page);
			default -> (integer != null) ? this.entities.findByInteger(integer, page) : this.entities.findBy(page);
		};
	}

}
