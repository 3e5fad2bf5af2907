package lab.mysql;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.config.MeterFilter;

import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.r2dbc.ConnectionFactoryDecorator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Profile;

/**
 * Settings of the pool that Boot has no property for.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnProperty("lab.mysql-host")
class MysqlConfiguration {

	@Bean
	@Profile("fixed-pool")
	ConnectionFactoryDecorator quietConnections() {
		return QuietConnectionFactory::new;
	}

	/**
	 * Boot gives the pool's meters a unit, which Prometheus appends to their names; the runs
	 * that people have kept have them without it.
	 */
	@Bean
	static MeterFilter poolMetersWithoutUnit() {
		return new MeterFilter() {

			@Override
			public Meter.Id map(Meter.Id id) {
				return id.getName().startsWith("r2dbc.pool.") ? id.withBaseUnit(null) : id;
			}

		};
	}

}
