package lab.generations;

import java.lang.management.ManagementFactory;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;

import org.springframework.stereotype.Component;

/**
 * The time of the JVM's compilers, which Micrometer has not counted from the beginning.
 */
@Component
class CompilerMeter {

	CompilerMeter(MeterRegistry registry) {
		FunctionCounter
			.builder("jvm.compilation.time", ManagementFactory.getCompilationMXBean(),
					(compiler) -> compiler.getTotalCompilationTime())
			.baseUnit("ms")
			.register(registry);
	}

}
