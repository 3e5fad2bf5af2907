import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordingFile;

/**
 * Adds up the pinnings of a recording, and the waits of virtual threads for a monitor.
 * Prints of each their number and the nanoseconds that they lasted, and then the method
 * outside Java's own in which pinnings lasted longest.
 */
public class Pinned {

	public static void main(String[] args) throws Exception {
		long count = 0;
		long waits = 0;
		Duration total = Duration.ZERO;
		Duration waited = Duration.ZERO;
		Map<String, Duration> byMethod = new HashMap<>();
		try (RecordingFile file = new RecordingFile(Path.of(args[0]))) {
			while (file.hasMoreEvents()) {
				RecordedEvent event = file.readEvent();
				if (event.getEventType().getName().equals("jdk.VirtualThreadPinned")) {
					count++;
					total = total.plus(event.getDuration());
					byMethod.merge(method(event), event.getDuration(), Duration::plus);
				}
				else if (event.getThread() != null && event.getThread().isVirtual()) {
					waits++;
					waited = waited.plus(event.getDuration());
				}
			}
		}
		String longest = byMethod.entrySet().stream().max(Map.Entry.comparingByValue()).map(Map.Entry::getKey).orElse("");
		System.out.println(count + " " + total.toNanos() + " " + waits + " " + waited.toNanos() + " " + longest);
	}

	private static String method(RecordedEvent event) {
		if (event.getStackTrace() == null) {
			return "";
		}
		for (RecordedFrame frame : event.getStackTrace().getFrames()) {
			String type = frame.getMethod().getType().getName();
			if (!type.startsWith("java.") && !type.startsWith("jdk.") && !type.startsWith("sun.")) {
				return type + "." + frame.getMethod().getName();
			}
		}
		return "";
	}

}
