package rangercdap.extension;

/** Whether CDAP may go on, and if not, the sentence for the person who asked. */
final class Answer {

  private final boolean allowed;
  private final String reason;

  private Answer(boolean allowed, String reason) {
    this.allowed = allowed;
    this.reason = reason;
  }

  /** Yes. */
  static Answer allowed() {
    return new Answer(true, "");
  }

  /** No, and why. */
  static Answer denied(String reason) {
    return new Answer(false, reason);
  }

  /** Whether CDAP may go on. */
  boolean isAllowed() {
    return allowed;
  }

  /** Why not; empty where it is allowed. */
  String reason() {
    return reason;
  }
}
