package rangercdap.extension;

/** What methods of CDAP's interface may throw before 6.5. */
class DeclaredException extends Exception {

  private static final long serialVersionUID = 1L;

  DeclaredException(String sentence) {
    super(sentence);
  }
}
