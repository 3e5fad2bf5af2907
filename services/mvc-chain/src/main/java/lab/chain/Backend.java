package lab.chain;

import lab.delay.Delay;

/**
 * The called service, by whichever client.
 */
interface Backend {

	/**
	 * Have it wait.
	 * @throws org.springframework.web.client.RestClientException if it does not answer
	 * with that delay
	 */
	Delay ask(Delay delay);

}
