package lab.grep;

import java.util.concurrent.Executor;

/**
 * Runs tasks; closing it waits for their end.
 */
interface Tasks extends Executor, AutoCloseable {

	@Override
	void close();

}
