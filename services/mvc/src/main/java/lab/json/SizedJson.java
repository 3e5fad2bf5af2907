package lab.json;

import java.io.IOException;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.boot.http.converter.autoconfigure.ServerHttpMessageConvertersCustomizer;
import org.springframework.core.ResolvableType;
import org.springframework.http.HttpOutputMessage;
import org.springframework.http.converter.HttpMessageConverters.ServerBuilder;
import org.springframework.http.converter.json.JacksonJsonHttpMessageConverter;
import org.springframework.stereotype.Component;

/**
 * Sends JSON with a Content-Length, as Netty's twin does, whose encoder makes a byte array
 * of each answer. Spring MVC's writes to the response piece by piece, so that Tomcat sends
 * all that exceeds its buffer of 8 KB, and every problem, in chunks: more work for a client,
 * which would be taken for the service's.
 */
@Component
class SizedJson implements ServerHttpMessageConvertersCustomizer {

	private final JsonMapper mapper;

	SizedJson(JsonMapper mapper) {
		this.mapper = mapper;
	}

	@Override
	public void customize(ServerBuilder converters) {
		converters.withJsonConverter(new Converter(this.mapper));
	}

	private static final class Converter extends JacksonJsonHttpMessageConverter {

		Converter(JsonMapper mapper) {
			super(mapper);
		}

		@Override
		protected void writeInternal(Object value, ResolvableType type, HttpOutputMessage answer,
				@Nullable Map<String, Object> hints) throws IOException {
			byte[] json = getMapper().writeValueAsBytes(value);
			answer.getHeaders().setContentLength(json.length);
			answer.getBody().write(json);
		}

	}

}
