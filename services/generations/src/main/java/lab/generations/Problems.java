package lab.generations;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.dao.DataAccessException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.HttpMediaTypeNotAcceptableException;
import org.springframework.web.HttpMediaTypeNotSupportedException;
import org.springframework.web.HttpRequestMethodNotSupportedException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.context.request.WebRequest;
import org.springframework.web.servlet.NoHandlerFoundException;

/**
 * Answers what the framework refuses as the current generation does, which has problems
 * (RFC 9457) of its own.
 */
@RestControllerAdvice
class Problems {

	private static final Log logger = LogFactory.getLog(Problems.class);

	private static final MediaType PROBLEM = MediaType.parseMediaType("application/problem+json");

	private final ObjectMapper mapper;

	Problems(ObjectMapper mapper) {
		this.mapper = mapper;
	}

	@ExceptionHandler
	ResponseEntity<byte[]> unknownPath(NoHandlerFoundException ex, WebRequest request) {
		return problem(HttpStatus.NOT_FOUND, new HttpHeaders(), request);
	}

	@ExceptionHandler
	ResponseEntity<byte[]> wrongMethod(HttpRequestMethodNotSupportedException ex, WebRequest request) {
		HttpHeaders headers = new HttpHeaders();
		Set<HttpMethod> supported = ex.getSupportedHttpMethods();
		if (supported != null) {
			headers.setAllow(supported);
		}
		return problem(HttpStatus.METHOD_NOT_ALLOWED, headers, request);
	}

	@ExceptionHandler
	ResponseEntity<byte[]> wrongType(HttpMediaTypeNotSupportedException ex, WebRequest request) {
		HttpHeaders headers = new HttpHeaders();
		headers.setAccept(ex.getSupportedMediaTypes());
		return problem(HttpStatus.UNSUPPORTED_MEDIA_TYPE, headers, request);
	}

	@ExceptionHandler
	ResponseEntity<byte[]> notAcceptable(HttpMediaTypeNotAcceptableException ex, WebRequest request) {
		HttpHeaders headers = new HttpHeaders();
		headers.setAccept(ex.getSupportedMediaTypes());
		return problem(HttpStatus.NOT_ACCEPTABLE, headers, request);
	}

	@ExceptionHandler
	ResponseEntity<byte[]> databaseFailed(DataAccessException ex, WebRequest request) {
		logger.warn(ex.getMessage());
		return problem(HttpStatus.SERVICE_UNAVAILABLE, new HttpHeaders(), request);
	}

	private ResponseEntity<byte[]> problem(HttpStatus status, HttpHeaders headers,
			WebRequest request) {
		Map<String, Object> problem = new LinkedHashMap<>();
		problem.put("instance", request.getDescription(false).replaceFirst("^uri=", ""));
		problem.put("status", status.value());
		problem.put("title", status.getReasonPhrase());
		headers.setContentType(PROBLEM);
		return new ResponseEntity<>(json(problem), headers, status);
	}

	/**
	 * Bytes, as an object would be refused in turn where the client has asked for something
	 * else than JSON.
	 */
	private byte[] json(Map<String, Object> problem) {
		try {
			return this.mapper.writeValueAsBytes(problem);
		}
		catch (JsonProcessingException ex) {
			throw new IllegalStateException(ex);
		}
	}

}
