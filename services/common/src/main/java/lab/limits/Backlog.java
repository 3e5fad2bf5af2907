package lab.limits;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The kernel's side of a listen backlog. It cuts what a server asks for to its own cap,
 * without a word.
 */
final class Backlog {

	// Of this process's network namespace, which in a container is the container's.
	private static final Path CAP = Path.of("/proc/sys/net/core/somaxconn");

	private Backlog() {
	}

	static int inForce(int asked) {
		// In one read: the kernel gives nothing but the beginning, so readString() gets a digit.
		try (BufferedReader reader = Files.newBufferedReader(CAP)) {
			return Math.min(asked, Integer.parseInt(reader.readLine()));
		}
		catch (IOException ex) {
			return asked; // not Linux: the cap cannot be read
		}
	}

}
