package rangercdap.lookup;

import java.io.IOException;

/** An answer that came, and is not what CDAP answers. */
final class UnusableAnswer extends IOException {

  private static final long serialVersionUID = 1L;

  UnusableAnswer(String why) {
    super(why);
  }
}
