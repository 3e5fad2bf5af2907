package lab;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

import org.springframework.stereotype.Component;

/**
 * For how long the process did not run, whatever stopped it: a thread that asks to be
 * woken twenty times a second adds up what it missed, as jHiccup does.
 */
@Component
class Hiccups implements MeterBinder {

	private static final long EVERY_MS = 50;

	// Shorter ones are what threads wait for each other on a busy core.
	private static final long SHORTEST_NS = 100_000_000;

	private volatile long missedNs;

	Hiccups() {
		Thread thread = new Thread(this::watch, "hiccups");
		thread.setDaemon(true);
		thread.start();
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		FunctionCounter.builder("lab.hiccups", this, (hiccups) -> hiccups.missedNs / 1e9)
			.baseUnit("seconds")
			.register(registry);
	}

	private void watch() {
		long due = System.nanoTime() + EVERY_MS * 1_000_000;
		while (!Thread.currentThread().isInterrupted()) {
			try {
				Thread.sleep(EVERY_MS);
			}
			catch (InterruptedException ex) {
				return;
			}
			long now = System.nanoTime();
			if (now - due >= SHORTEST_NS) {
				this.missedNs += now - due;
			}
			due = now + EVERY_MS * 1_000_000;
		}
	}

}
