package lab.limits;

import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ErrorReportValve;
import org.apache.coyote.http11.Http11InputBuffer;
import org.apache.tomcat.util.res.StringManager;
import org.jspecify.annotations.Nullable;

import org.springframework.http.HttpStatus;

/**
 * Refuses what never reaches Spring as Netty's twin does: without a page, and a head that
 * is too large by the status for it (RFC 9110, 15.5.15; RFC 6585, 5). Tomcat's own valve,
 * whose place this one takes, says 400 to it. What is answered passes by as before.
 */
class Refusals extends ErrorReportValve {

	// Tomcat has no exception of its own for it.
	private static final String TOO_LARGE = StringManager.getManager(Http11InputBuffer.class)
		.getString("iib.requestheadertoolarge.error");

	@Override
	protected void report(Request request, Response response, @Nullable Throwable cause) {
		if (cause != null && TOO_LARGE.equals(cause.getMessage())
				&& response.getStatus() == HttpStatus.BAD_REQUEST.value()) {
			boolean inUri = request.getCoyoteRequest().requestURI().isNull();
			HttpStatus status = inUri ? HttpStatus.URI_TOO_LONG : HttpStatus.REQUEST_HEADER_FIELDS_TOO_LARGE;
			response.setStatus(status.value());
		}
	}

}
