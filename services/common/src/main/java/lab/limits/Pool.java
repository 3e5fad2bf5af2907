package lab.limits;

/**
 * The connections to a database or another service, as the pool itself counts them.
 */
public interface Pool {

	int max();

	int live();

}
