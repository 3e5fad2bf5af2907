package lab;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.server.context.WebServerPortFileWriter;

@SpringBootApplication
public class Application {

	public static void main(String[] args) {
		SpringApplication application = new SpringApplication(Application.class);
		if (System.getProperty("PORTFILE") != null) {
			application.addListeners(new WebServerPortFileWriter());
		}
		application.run(args);
	}

}
