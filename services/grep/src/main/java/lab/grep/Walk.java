package lab.grep;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Finds all files below a folder, as {@code grep -r} does: links are not followed, so that
 * none can lead in a circle, and what is neither file nor folder is not opened.
 */
final class Walk {

	private final Search search;

	private final Names names;

	private final Results results;

	private final String ending;

	private int links;

	private int others;

	private int otherwiseNamed;

	/**
	 * @param ending of the names of the files to search; those of all others are left out
	 */
	Walk(Search search, Names names, Results results, String ending) {
		this.search = search;
		this.names = names;
		this.results = results;
		this.ending = ending;
	}

	/**
	 * Visit all that is below a path, and search each file as a task of its own.
	 */
	void visit(Path root, Tasks tasks) {
		Deque<Path> folders = new ArrayDeque<>();
		take(root, tasks, folders);
		while (!folders.isEmpty()) {
			Path folder = folders.pop();
			try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder)) {
				for (Path entry : entries) {
					take(entry, tasks, folders, LinkOption.NOFOLLOW_LINKS);
				}
			}
			catch (DirectoryIteratorException ex) {
				this.results.complain(this.names.of(folder), ex.getCause());
			}
			catch (IOException ex) {
				this.results.complain(this.names.of(folder), ex);
			}
		}
	}

	private void take(Path path, Tasks tasks, Deque<Path> folders, LinkOption... how) {
		try {
			BasicFileAttributes found = Files.readAttributes(path, BasicFileAttributes.class, how);
			if (found.isDirectory()) {
				folders.push(path);
			}
			else if (found.isSymbolicLink()) {
				this.links++;
			}
			else if (!found.isRegularFile()) {
				this.others++;
			}
			else if (!path.getFileName().toString().endsWith(this.ending)) {
				this.otherwiseNamed++;
			}
			else {
				long size = found.size();
				tasks.execute(() -> this.search.in(path, size));
			}
		}
		catch (IOException | OutOfMemoryError ex) {
			this.results.complain(this.names.of(path), ex);
		}
	}

	/**
	 * Say what was found and not searched.
	 */
	void tellWhatWasLeftOut() {
		tell(this.links, "not followed: symbolic links");
		tell(this.others, "not read: neither files nor folders");
		tell(this.otherwiseNamed, "not searched: files whose names do not end with " + this.ending);
	}

	private void tell(int count, String what) {
		if (count > 0) {
			this.results.tell(count + " " + what);
		}
	}

}
