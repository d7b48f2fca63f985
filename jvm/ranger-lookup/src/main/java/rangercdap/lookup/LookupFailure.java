package rangercdap.lookup;

/** Why there are no names: one sentence, and the setting of the service that it is about. Never holds a secret. */
final class LookupFailure extends Exception {

  private static final long serialVersionUID = 1L;
  private static final int LONGEST_TEXT = 300;

  private final String field;
  private final boolean down;

  private LookupFailure(String field, String sentence, boolean down) {
    super(sentence);
    this.field = field;
    this.down = down;
  }

  /** A setting that must be corrected, or the answer to what it says. */
  static LookupFailure of(String field, String sentence) {
    return new LookupFailure(field, sentence, false);
  }

  /** CDAP cannot be reached or is too slow, so it is better not asked again at once. */
  static LookupFailure down(String field, String sentence) {
    return new LookupFailure(field, sentence, true);
  }

  /** The name of the setting. */
  String field() {
    return field;
  }

  /** Whether asking again at once would only make others wait. */
  boolean isDown() {
    return down;
  }

  /** A text of another program, fit for a log line and a page. */
  static String readable(String text) {
    String clean = text.replaceAll("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]", " ").trim();
    return clean.length() <= LONGEST_TEXT ? clean : clean.substring(0, LONGEST_TEXT) + "…";
  }

  /** The same for people, who know the setting by the label that Ranger's form has for it. */
  LookupFailure shown(String label) {
    return new LookupFailure(field, label + " (" + field + ") " + getMessage(), down);
  }

  /** Ranger shows people this text of a failure, not its message. */
  @Override
  public String toString() {
    return getMessage();
  }

  /** One trace is enough, that of whoever reports it. */
  @Override
  public synchronized Throwable fillInStackTrace() {
    return this;
  }
}
