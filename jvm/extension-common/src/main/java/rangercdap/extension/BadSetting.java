package rangercdap.extension;

/** A setting with which the extension must not start; the message is one sentence for the administrator of CDAP. */
final class BadSetting extends IllegalArgumentException {

  private static final long serialVersionUID = 1L;

  BadSetting(String sentence) {
    super(sentence);
  }
}
