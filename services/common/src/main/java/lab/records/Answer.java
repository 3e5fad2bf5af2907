package lab.records;

import java.util.List;

/**
 * What every request that is allowed gets, however many records there are for it.
 */
record Answer<R>(boolean success, List<R> records) {

	static <R> Answer<R> of(List<R> records) {
		return new Answer<>(true, records);
	}

}
