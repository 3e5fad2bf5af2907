package lab.limits;

/**
 * The connections to a database or another service, as the pool itself counts them.
 */
public interface Pool {

	/**
	 * What its connections lead to, by the name that the lab has for it.
	 */
	String to();

	int max();

	int live();

}
