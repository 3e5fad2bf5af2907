package lab;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.context.WebServerPortFileWriter;

@SpringBootApplication
public class GenerationApplication {

	public static void main(String[] args) {
		SpringApplication application = new SpringApplication(GenerationApplication.class);
		if (System.getProperty("PORTFILE") != null) {
			application.addListeners(new WebServerPortFileWriter());
		}
		application.run(args);
	}

}
