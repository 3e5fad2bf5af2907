package lab.grep;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Prints the lines of all files below a folder that hold a string, as
 * {@code grep -raF STRING FOLDER} does, but in any order.
 * <p>
 * It ends as GNU grep does: with 0 if a line was found, 1 if none was, and 2 if anything
 * could not be read, which a sentence on standard error names.
 */
public final class Grep {

	private static final String USAGE = "usage: platform|virtual|one buffered|random|nio STRING FOLDER [ENDING]";

	private Grep() {
	}

	/**
	 * @param args on which threads files are searched and how they are read; what for,
	 * and where; and the ending of the names of the files to search, all if there is none
	 */
	public static void main(String[] args) throws IOException {
		System.exit(run(args));
	}

	private static int run(String[] args) throws IOException {
		if (args.length < 4 || args.length > 5 || args[2].isEmpty() || args[2].contains("\n")) {
			System.err.println(USAGE);
			return 2;
		}
		Threads threads;
		Reading reading;
		try {
			threads = Threads.valueOf(args[0].toUpperCase(Locale.ROOT));
			reading = Reading.valueOf(args[1].toUpperCase(Locale.ROOT));
		}
		catch (IllegalArgumentException ex) {
			System.err.println(USAGE);
			return 2;
		}
		Results results = new Results();
		Names names = new Names(args[3]);
		Search search = new Search(args[2], reading, names, results);
		Walk walk = new Walk(search, names, results, (args.length == 5) ? args[4] : "");
		try (Tasks tasks = threads.tasks()) {
			walk.visit(Path.of(args[3]), tasks);
		}
		walk.tellWhatWasLeftOut();
		return results.end();
	}

}
