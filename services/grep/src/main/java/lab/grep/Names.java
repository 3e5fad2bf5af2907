package lab.grep;

import java.io.ByteArrayOutputStream;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/**
 * The names of files as bytes, below the folder as it was asked for: a name may have any
 * bytes but zero and a slash, also such that are no text in any encoding.
 */
final class Names {

	private static final Charset ENCODING = Charset.forName(System.getProperty("sun.jnu.encoding"));

	private final byte[] asked;

	private final int rootLength;

	Names(String root) {
		String trimmed = root.replaceFirst("/+$", "");
		this.asked = trimmed.getBytes(ENCODING);
		this.rootLength = bytes(Path.of(root)).length;
	}

	/**
	 * The name of a file, such as {@code folder/a/b}. It costs a call of the operating
	 * system, so ask only for what is printed.
	 */
	byte[] of(Path file) {
		byte[] whole = bytes(file);
		ByteArrayOutputStream name = new ByteArrayOutputStream();
		name.writeBytes(this.asked);
		name.write(whole, this.rootLength, whole.length - this.rootLength);
		return name.toByteArray();
	}

	/**
	 * The bytes of a path, without a slash at its end. Only as a URI does a path tell them
	 * all; its text has replaced those that it cannot decode.
	 */
	private static byte[] bytes(Path path) {
		byte[] quoted = path.toUri().getRawPath().getBytes(StandardCharsets.US_ASCII);
		ByteArrayOutputStream bytes = new ByteArrayOutputStream(quoted.length);
		int end = (quoted[quoted.length - 1] == '/') ? quoted.length - 1 : quoted.length;
		for (int i = 0; i < end; i++) {
			if (quoted[i] == '%') {
				bytes.write((Character.digit(quoted[i + 1], 16) << 4) + Character.digit(quoted[i + 2], 16));
				i += 2;
			}
			else {
				bytes.write(quoted[i]);
			}
		}
		return bytes.toByteArray();
	}

}
