package lab.generations;

import java.io.IOException;
import java.lang.reflect.Type;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.springframework.http.HttpOutputMessage;
import org.springframework.http.converter.json.MappingJackson2HttpMessageConverter;
import org.springframework.stereotype.Component;

/**
 * Sends JSON with a Content-Length, as the current generation's service does.
 */
@Component
class SizedJson extends MappingJackson2HttpMessageConverter {

	SizedJson(ObjectMapper mapper) {
		super(mapper);
	}

	@Override
	protected void writeInternal(Object value, Type type, HttpOutputMessage answer) throws IOException {
		byte[] json = getObjectMapper().writeValueAsBytes(value);
		answer.getHeaders().setContentLength(json.length);
		answer.getBody().write(json);
	}

}
