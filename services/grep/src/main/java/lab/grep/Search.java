package lab.grep;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Searches one file for a string, line by line. A line ends with a line feed, and any
 * other byte may be in it, so that a binary file is searched like any other.
 */
final class Search {

	/**
	 * The most bytes that are read at once, and of lines that are kept before they are
	 * printed; a file that has fewer takes no more memory than it needs.
	 */
	private static final int MOST = 256 * 1024;

	private static final int LEAST = 4 * 1024;

	private final String string;

	private final Reading reading;

	private final Names names;

	private final Results results;

	Search(String string, Reading reading, Names names, Results results) {
		// As bytes, each of which is one character: so the JDK's fast search can be used.
		this.string = new String(string.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
		this.reading = reading;
		this.names = names;
		this.results = results;
	}

	/**
	 * @param size how long the file probably is, in bytes
	 */
	void in(Path file, long size) {
		try (Reading.Source source = this.reading.open(file)) {
			new OneFile(file).search(source.read(), size);
		}
		catch (IOException | RuntimeException | OutOfMemoryError ex) {
			this.results.complain(this.names.of(file), ex);
		}
	}

	private final class OneFile {

		private final Path file;

		private final ByteArrayOutputStream found = new ByteArrayOutputStream();

		private byte[] name;

		OneFile(Path file) {
			this.file = file;
		}

		void search(Reading.Read source, long size) throws IOException {
			byte[] buffer = new byte[(int) Math.max(LEAST, Math.min(size + 1, MOST))];
			int filled = 0;
			for (int read; (read = source.read(buffer, filled, buffer.length - filled)) >= 0;) {
				int end = endOfLines(buffer, filled, filled + read);
				filled += read;
				if (end > 0) {
					searchLines(buffer, end);
					System.arraycopy(buffer, end, buffer, 0, filled - end);
					filled -= end;
				}
				if (filled == buffer.length) {
					buffer = Arrays.copyOf(buffer, larger(buffer.length));
				}
			}
			searchLines(buffer, filled);
			print();
		}

		/**
		 * The end of the last whole line, of which the end is among the bytes just read; 0
		 * if there is none.
		 */
		private static int endOfLines(byte[] buffer, int from, int to) {
			for (int i = to; i > from; i--) {
				if (buffer[i - 1] == '\n') {
					return i;
				}
			}
			return 0;
		}

		private static int larger(int length) throws IOException {
			if (length > Integer.MAX_VALUE / 2) {
				throw new IOException("a line is longer than " + length + " bytes");
			}
			return 2 * length;
		}

		private void searchLines(byte[] buffer, int length) {
			String text = new String(buffer, 0, length, StandardCharsets.ISO_8859_1);
			int at = text.indexOf(Search.this.string);
			while (at >= 0) {
				int begin = text.lastIndexOf('\n', at) + 1;
				int end = text.indexOf('\n', at);
				end = (end < 0) ? length : end;
				keep(buffer, begin, end);
				at = text.indexOf(Search.this.string, end);
			}
		}

		private void keep(byte[] buffer, int begin, int end) {
			if (this.name == null) {
				this.name = Search.this.names.of(this.file);
			}
			this.found.writeBytes(this.name);
			this.found.write(':');
			this.found.write(buffer, begin, end - begin);
			this.found.write('\n');
			if (this.found.size() > MOST) {
				print();
			}
		}

		private void print() {
			if (this.found.size() > 0) {
				Search.this.results.print(this.found.toByteArray(), this.found.size());
				this.found.reset();
			}
		}

	}

}
