package lab.limits;

import org.springframework.boot.context.embedded.ConfigurableEmbeddedServletContainer;
import org.springframework.boot.context.embedded.EmbeddedServletContainerCustomizer;
import org.springframework.boot.context.embedded.tomcat.TomcatEmbeddedServletContainerFactory;
import org.springframework.stereotype.Component;

/**
 * Before Boot 2 a server was an embedded servlet container.
 */
@Component
class GenerationServer implements EmbeddedServletContainerCustomizer {

	private final MainServer server;

	private final GenerationServerLimits limits;

	GenerationServer(MainServer server, GenerationServerLimits limits) {
		this.server = server;
		this.limits = limits;
	}

	@Override
	public void customize(ConfigurableEmbeddedServletContainer container) {
		TomcatEmbeddedServletContainerFactory factory = (TomcatEmbeddedServletContainerFactory) container;
		factory.addConnectorCustomizers(this.limits::customize, this.server::customize);
		factory.addContextCustomizers(this.server::customize);
	}

}
