package lab.grep;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * How files are read.
 */
enum Reading {

	/**
	 * Through a buffer of 8 KiB: whoever asks for less gets what is in it. Whoever asks for
	 * more would go past it.
	 */
	BUFFERED {
		@Override
		Source open(Path file) throws IOException {
			BufferedInputStream stream = new BufferedInputStream(new FileInputStream(file.toFile()), BUFFER);
			return new Source((into, from, length) -> stream.read(into, from, Math.min(length, BUFFER / 2)), stream);
		}
	},

	RANDOM {
		@Override
		Source open(Path file) throws IOException {
			RandomAccessFile random = new RandomAccessFile(file.toFile(), "r");
			return new Source(random::read, random);
		}
	},

	NIO {
		@Override
		Source open(Path file) throws IOException {
			FileChannel channel = FileChannel.open(file, StandardOpenOption.READ);
			return new Source((into, from, length) -> channel.read(ByteBuffer.wrap(into, from, length)), channel);
		}
	};

	private static final int BUFFER = 8 * 1024;

	/**
	 * @throws IOException where it cannot be read; also where its name has no text in the
	 * locale's encoding, and the way of reading takes names as text
	 */
	abstract Source open(Path file) throws IOException;

	/**
	 * Reads some bytes into an array; returns how many, -1 at the end.
	 */
	interface Read {

		int read(byte[] into, int from, int length) throws IOException;

	}

	/**
	 * An open file.
	 */
	record Source(Read read, Closeable file) implements Closeable {

		@Override
		public void close() throws IOException {
			this.file.close();
		}

	}

}
