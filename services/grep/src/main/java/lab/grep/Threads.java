package lab.grep;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * On which threads files are searched.
 */
enum Threads {

	/**
	 * One thread of the operating system for each file.
	 */
	PLATFORM {
		@Override
		Tasks tasks() {
			return closing(Executors.newThreadPerTaskExecutor(Thread.ofPlatform().factory()));
		}
	},

	/**
	 * One virtual thread for each file.
	 */
	VIRTUAL {
		@Override
		Tasks tasks() {
			return closing(Executors.newVirtualThreadPerTaskExecutor());
		}
	},

	/**
	 * The thread that finds the files searches them too.
	 */
	ONE {
		@Override
		Tasks tasks() {
			return new Tasks() {
				@Override
				public void execute(Runnable task) {
					task.run();
				}

				@Override
				public void close() {
				}
			};
		}
	};

	abstract Tasks tasks();

	private static Tasks closing(ExecutorService executor) {
		return new Tasks() {
			@Override
			public void execute(Runnable task) {
				executor.execute(task);
			}

			@Override
			public void close() {
				executor.close();
			}
		};
	}

}
