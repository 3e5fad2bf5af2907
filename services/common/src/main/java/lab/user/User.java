package lab.user;

/**
 * A row of the table {@code users}.
 */
record User(String email, String first, String last, String city, String county, int age) {
}
