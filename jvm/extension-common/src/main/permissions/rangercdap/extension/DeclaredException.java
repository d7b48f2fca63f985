package rangercdap.extension;

import io.cdap.cdap.api.security.AccessException;

/** What methods of CDAP's interface may throw since 6.5. */
class DeclaredException extends AccessException {

  private static final long serialVersionUID = 1L;

  DeclaredException(String sentence) {
    super(sentence);
  }
}
