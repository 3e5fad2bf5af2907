package lab.limits;

import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.stereotype.Component;

/**
 * Factory customizers do not reach into the management context.
 */
@Component
class MainServerCustomizer implements WebServerFactoryCustomizer<TomcatServletWebServerFactory> {

	private final MainServer server;

	MainServerCustomizer(MainServer server) {
		this.server = server;
	}

	@Override
	public void customize(TomcatServletWebServerFactory factory) {
		factory.addConnectorCustomizers(this.server::customize);
		factory.addContextCustomizers(this.server::customize);
	}

}
