package lab.limits;

import org.springframework.boot.web.embedded.tomcat.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.core.Ordered;
import org.springframework.stereotype.Component;

/**
 * From Boot 2 to 3; comes after Boot's own, whose properties have other names.
 */
@Component
class GenerationServer implements WebServerFactoryCustomizer<TomcatServletWebServerFactory>, Ordered {

	private final MainServer server;

	private final GenerationServerLimits limits;

	GenerationServer(MainServer server, GenerationServerLimits limits) {
		this.server = server;
		this.limits = limits;
	}

	@Override
	public int getOrder() {
		return LOWEST_PRECEDENCE;
	}

	@Override
	public void customize(TomcatServletWebServerFactory factory) {
		factory.addConnectorCustomizers(this.limits::customize, this.server::customize);
		factory.addContextCustomizers(this.server::customize);
	}

}
