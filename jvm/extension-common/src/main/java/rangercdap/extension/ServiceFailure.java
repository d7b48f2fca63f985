package rangercdap.extension;

/** The decision service has given no usable answer: the message says why, in words that a user of CDAP may see. */
final class ServiceFailure extends Exception {

  private static final long serialVersionUID = 1L;

  private final String detail;
  private final boolean answer;
  private final boolean away;

  private ServiceFailure(String why, String detail, boolean answer, boolean away) {
    super(why, null, false, false);
    this.detail = detail;
    this.answer = answer;
    this.away = away;
  }

  /** No connection, one that broke, or no whole answer in time: nothing shows that the service is alive. */
  static ServiceFailure unanswered(String why, String detail) {
    return new ServiceFailure(why, detail, false, true);
  }

  /** Not asked, because the calls before were unanswered, the last of them for that reason. */
  static ServiceFailure notAsked(String last) {
    return unanswered("not asked for the moment, as the last calls failed: " + last, "");
  }

  /** An answer that cannot be used. */
  static ServiceFailure unusable(String why) {
    return new ServiceFailure(why, "", true, true);
  }

  /** The service has answered, but not to this question. */
  static ServiceFailure refused(String why, String detail) {
    return new ServiceFailure(why, detail, true, false);
  }

  /** Whether there was an answer at all. */
  boolean isAnswer() {
    return answer;
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
