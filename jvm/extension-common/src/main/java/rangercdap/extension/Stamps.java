package rangercdap.extension;

import java.security.SecureRandom;

/** Makes the stamps of one process, which nobody can guess. */
final class Stamps {

  private static final int BYTES = 16;
  private static final String DIGITS = "0123456789abcdef";

  private final SecureRandom random = new SecureRandom();
  private final String process = name();

  /** A stamp for a check that is about to be asked. CDAP acts only after the answer, so never before its time. */
  Stamp next() {
    return new Stamp(name(), process, System.currentTimeMillis());
  }

  private String name() {
    byte[] bytes = new byte[BYTES];
    random.nextBytes(bytes);
    StringBuilder name = new StringBuilder(2 * BYTES);
    for (byte each : bytes) {
      name.append(DIGITS.charAt(each >> 4 & 15)).append(DIGITS.charAt(each & 15));
    }
    return name.toString();
  }
}
