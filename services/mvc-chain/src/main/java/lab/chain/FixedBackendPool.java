package lab.chain;

import java.util.concurrent.TimeUnit;

import org.apache.hc.client5.http.config.ConnectionConfig;
import org.apache.hc.client5.http.config.RequestConfig;
import org.apache.hc.client5.http.impl.classic.HttpClientBuilder;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder;
import org.apache.hc.core5.util.TimeValue;
import org.apache.hc.core5.util.Timeout;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.PropertyMapper;
import org.springframework.boot.http.client.HttpClientSettings;
import org.springframework.boot.http.client.HttpComponentsClientHttpRequestFactoryBuilder;
import org.springframework.boot.http.client.autoconfigure.ClientHttpRequestFactoryBuilderCustomizer;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Component;

/**
 * A pool of one size, whose connections live as long as the process, and a client that
 * sends each request once, and nothing that the other one does not. Boot has no properties
 * for either.
 */
@Component
@Profile("fixed-pool")
@ConditionalOnProperty("lab.backend-url")
class FixedBackendPool
		implements ClientHttpRequestFactoryBuilderCustomizer<HttpComponentsClientHttpRequestFactoryBuilder> {

	private final int size;

	private final long waitMs;

	private final HttpClientSettings settings;

	FixedBackendPool(@Value("${lab.pool}") int size, @Value("${lab.pool-wait-ms}") long waitMs,
			HttpClientSettings settings) {
		this.size = size;
		this.waitMs = waitMs;
		this.settings = settings;
	}

	@Override
	public HttpComponentsClientHttpRequestFactoryBuilder customize(
			HttpComponentsClientHttpRequestFactoryBuilder builder) {
		return builder.withConnectionManagerCustomizer(this::customize)
			.withDefaultRequestConfigCustomizer(this::customize)
			.withHttpClientCustomizer(this::customize);
	}

	/**
	 * By itself the client reads from a connection that has rested for two seconds, to see
	 * whether it was closed, and waits a millisecond for nothing. Boot's timeouts are set
	 * again, since they go with the configuration that this one takes the place of.
	 */
	private void customize(PoolingHttpClientConnectionManagerBuilder connections) {
		ConnectionConfig.Builder connection = ConnectionConfig.custom()
			.setValidateAfterInactivity(TimeValue.NEG_ONE_MILLISECOND);
		PropertyMapper map = PropertyMapper.get();
		map.from(this.settings::connectTimeout).as(Timeout::of).to(connection::setConnectTimeout);
		map.from(this.settings::readTimeout).as(Timeout::of).to(connection::setSocketTimeout);
		connections.setMaxConnTotal(this.size)
			.setMaxConnPerRoute(this.size)
			.setDefaultConnectionConfig(connection.build());
	}

	private void customize(RequestConfig.Builder request) {
		request.setConnectionRequestTimeout(this.waitMs, TimeUnit.MILLISECONDS)
			.setConnectionKeepAlive(TimeValue.NEG_ONE_MILLISECOND)
			.setProtocolUpgradeEnabled(false);
	}

	private void customize(HttpClientBuilder client) {
		client.disableAutomaticRetries().disableContentCompression().disableCookieManagement();
	}

}
