package rangercdap.extension;

/** The decision service has given no usable answer: the message says why, in words that a user of CDAP may see. */
final class ServiceFailure extends Exception {

  private static final long serialVersionUID = 1L;

  private final String detail;
  private final boolean away;
  private final boolean unconnected;

  private ServiceFailure(String why, String detail, boolean away, boolean unconnected) {
    super(why, null, false, false);
    this.detail = detail;
    this.away = away;
    this.unconnected = unconnected;
  }

  /** No connection, or one that broke: worth one more try. */
  static ServiceFailure unconnected(String why, String detail) {
    return new ServiceFailure(why, detail, true, true);
  }

  /** No answer, or one that cannot be understood. */
  static ServiceFailure away(String why) {
    return new ServiceFailure(why, "", true, false);
  }

  /** The service has answered, but not to this question. */
  static ServiceFailure refused(String why, String detail) {
    return new ServiceFailure(why, detail, false, false);
  }

  /** Whether another try may find a connection. */
  boolean isUnconnected() {
    return unconnected;
  }

  /** Whether the service must introduce itself again when it is back. */
  boolean isAway() {
    return away;
  }

  /** What only the log says. */
  String detail() {
    return detail;
  }

  /** The sentence that a user of CDAP sees. */
  String sentence() {
    return "the authorization service of CDAP does not answer (" + getMessage()
        + "); nothing is allowed until it does";
  }
}
