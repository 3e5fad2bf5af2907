package lab.mongo.standin;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

import de.bwaldvogel.mongo.MongoServer;

/**
 * Stands in for MongoDB where there is none: in memory, on loopback.
 */
public final class MongoStandin {

	private MongoStandin() {
	}

	/**
	 * @param args the port, 0 for a free one; and the file that will hold the port
	 */
	public static void main(String[] args) throws IOException {
		MongoServer server = new MongoServer(new CountingBackend().version(new CurrentVersion()));
		server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(args[0])));
		String port = String.valueOf(server.getLocalAddress().getPort());
		System.out.println(port);
		if (args.length > 1) {
			writeWhole(port, Path.of(args[1]).toAbsolutePath());
		}
	}

	/**
	 * Who sees the file sees all of it.
	 */
	private static void writeWhole(String text, Path file) throws IOException {
		Path unfinished = Files.createTempFile(file.getParent(), file.getFileName().toString(), null);
		Files.writeString(unfinished, text);
		Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
	}

}
