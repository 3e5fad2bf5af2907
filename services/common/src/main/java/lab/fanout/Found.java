package lab.fanout;

/**
 * How many of a request's finds found their document.
 */
record Found(int calls, int found) {
}
