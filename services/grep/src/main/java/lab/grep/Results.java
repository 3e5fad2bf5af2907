package lab.grep;

import java.io.FileDescriptor;
import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What is printed, by any thread: lines that were found, and what could not be read.
 */
final class Results {

	private final OutputStream out = new FileOutputStream(FileDescriptor.out);

	private final PrintStream err = new PrintStream(new FileOutputStream(FileDescriptor.err), true);

	private final ReentrantLock lock = new ReentrantLock();

	private boolean found;

	private boolean failed;

	private boolean ended;

	/**
	 * Print whole lines, of which there is one at least. Where nobody takes them any more,
	 * that is said once.
	 */
	void print(byte[] lines, int length) {
		this.lock.lock();
		try {
			this.found = true;
			if (!this.ended) {
				this.out.write(lines, 0, length);
			}
		}
		catch (IOException ex) {
			this.ended = true;
			complain("write error".getBytes(StandardCharsets.US_ASCII), ex);
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Say what could not be read, and why.
	 */
	void complain(byte[] name, Throwable why) {
		this.lock.lock();
		try {
			this.failed = true;
			this.err.writeBytes("grep: ".getBytes(StandardCharsets.US_ASCII));
			this.err.writeBytes(name);
			this.err.println(": " + inWords(why));
		}
		finally {
			this.lock.unlock();
		}
	}

	/**
	 * Say something that is no failure.
	 */
	void tell(String sentence) {
		this.err.println("grep: " + sentence);
	}

	/**
	 * The exit status.
	 */
	int end() {
		return this.failed ? 2 : this.found ? 0 : 1;
	}

	private static String inWords(Throwable why) {
		return switch (why) {
			case AccessDeniedException ex -> "Permission denied";
			case NoSuchFileException ex -> "No such file or directory";
			case FileSystemException ex when ex.getReason() != null -> ex.getReason();
			case FileNotFoundException ex when ex.getMessage().endsWith(")") ->
				ex.getMessage().substring(ex.getMessage().lastIndexOf('(') + 1, ex.getMessage().length() - 1);
			case OutOfMemoryError error -> "memory exhausted: " + error.getMessage();
			default -> (why.getMessage() != null) ? why.getMessage() : why.toString();
		};
	}

}
