package lab.entity;

/**
 * How many entities an update found.
 */
record Matched(long matched) {
}
