package lab.mysql;

import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Component;

/**
 * Has the pool trust connections that have rested: otherwise one that has done so for half
 * a second costs a ping, one more round trip a request, which the other pool's do not.
 */
@Component
@Profile("fixed-pool")
@ConditionalOnProperty("lab.mysql-host")
class MysqlConfiguration implements BeanFactoryPostProcessor {

	/**
	 * No property of the pool: it reads this once, when it is started. That is before all
	 * beans of ours where there is JPA, for which Boot asks whether the database is embedded.
	 */
	@Override
	public void postProcessBeanFactory(ConfigurableListableBeanFactory beans) {
		System.setProperty("com.zaxxer.hikari.aliveBypassWindowMs", String.valueOf(Long.MAX_VALUE));
	}

}
