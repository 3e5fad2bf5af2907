package lab.backend;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.pool.InstrumentedPool;
import reactor.pool.PoolBuilder;

/**
 * How this service behaves from its next call on: how many calls it works on at once, and
 * when it fails, is slow, or is dead. Its time begins with its first call.
 */
final class Behaviour {

	static final Behaviour UNLIMITED = new Behaviour(0, Span.NEVER, Span.NEVER, Duration.ZERO, Span.NEVER);

	// A call in work holds one, as it would hold a thread of a service that blocks one for each; the others queue.
	private final @Nullable InstrumentedPool<Object> threads;

	private final Span fails;

	private final Span slow;

	private final Duration slower;

	private final Span dead;

	private final AtomicReference<@Nullable Long> begun = new AtomicReference<>();

	Behaviour(int threads, Span fails, Span slow, Duration slower, Span dead) {
		this.threads = (threads > 0)
				? PoolBuilder.from(Mono.fromSupplier(Object::new)).sizeBetween(0, threads).buildPool() : null;
		this.fails = fails;
		this.slow = slow;
		this.slower = slower;
		this.dead = dead;
	}

	/**
	 * Whether this call is the first, with which its time begins.
	 */
	boolean begin() {
		return this.begun.compareAndSet(null, System.nanoTime());
	}

	Duration elapsed() {
		Long first = this.begun.get();
		return (first != null) ? Duration.ofNanos(System.nanoTime() - first) : Duration.ZERO;
	}

	boolean fails(Duration elapsed) {
		return this.fails.contains(elapsed);
	}

	/**
	 * Have a call wait for its turn, and take longer where the service is slow.
	 */
	Mono<Void> serve(Duration elapsed, Mono<Void> call) {
		Mono<Void> served = this.slow.contains(elapsed) ? Mono.delay(this.slower).then(call) : call;
		return (this.threads != null) ? this.threads.withPoolable((thread) -> served).then() : served;
	}

	int threads() {
		return (this.threads != null) ? this.threads.metrics().getMaxAllocatedSize() : 0;
	}

	Span fails() {
		return this.fails;
	}

	Span slow() {
		return this.slow;
	}

	Duration slower() {
		return this.slower;
	}

	Span dead() {
		return this.dead;
	}

}
