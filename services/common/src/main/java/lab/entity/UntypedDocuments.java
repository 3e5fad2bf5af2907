package lab.entity;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.mongodb.core.convert.DefaultMongoTypeMapper;
import org.springframework.data.mongodb.core.convert.MappingMongoConverter;

/**
 * Has Spring Data store what the driver does: by itself it adds the name of the class to
 * each document.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnProperty("lab.access")
class UntypedDocuments {

	UntypedDocuments(MappingMongoConverter converter) {
		converter.setTypeMapper(new DefaultMongoTypeMapper(null));
	}

}
