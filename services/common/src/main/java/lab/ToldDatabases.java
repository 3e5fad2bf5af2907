package lab;

import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;

import org.springframework.boot.autoconfigure.AutoConfigurationImportFilter;
import org.springframework.boot.autoconfigure.AutoConfigurationMetadata;
import org.springframework.context.EnvironmentAware;
import org.springframework.core.env.Environment;

/**
 * Lets Boot configure a database only where this process was told of one: its starters
 * would look for MySQL and MongoDB in every service, whatever is asked of it, and a
 * service that needs none would not start, or pay for it.
 */
class ToldDatabases implements AutoConfigurationImportFilter, EnvironmentAware {

	private static final String MYSQL = "lab.mysql-host";

	private static final String MONGO = "lab.mongo-uri";

	private static final String BOOT = "org.springframework.boot.";

	/**
	 * Some generations of Boot have it before the name of what is configured, others after it.
	 */
	private static final String AUTOCONFIGURE = "autoconfigure.";

	/**
	 * By how a package of Boot's begins, the properties of which one must be there.
	 */
	private static final Map<String, List<String>> TELLING = Map.of(BOOT + "jdbc.", List.of(MYSQL), BOOT + "r2dbc.",
			List.of(MYSQL), BOOT + "mongo", List.of(MONGO), BOOT + "data.mongo", List.of(MONGO), BOOT + "data.metrics.",
			List.of(MONGO), BOOT + "data.web.", List.of(MONGO), BOOT + "transaction.", List.of(MYSQL, MONGO),
			BOOT + "persistence.", List.of(MYSQL, MONGO));

	private Environment environment;

	@Override
	public void setEnvironment(Environment environment) {
		this.environment = environment;
	}

	@Override
	public boolean[] match(@Nullable String[] configurations, AutoConfigurationMetadata metadata) {
		boolean[] matches = new boolean[configurations.length];
		for (int i = 0; i < configurations.length; i++) {
			matches[i] = configurations[i] == null || isWanted(configurations[i]);
		}
		return matches;
	}

	private boolean isWanted(String className) {
		String configuration = className.replace(AUTOCONFIGURE, "");
		return TELLING.entrySet()
			.stream()
			.filter((telling) -> configuration.startsWith(telling.getKey()))
			.allMatch((telling) -> telling.getValue().stream().anyMatch(this.environment::containsProperty));
	}

}
