package rangercdap.extension;

import java.nio.ByteBuffer;
import java.security.SecureRandom;

/** Makes the stamps of one process, which nobody can guess. */
final class Stamps {

  private static final int BYTES = 16;
  private static final String DIGITS = "0123456789abcdef";

  private static final int DRAWN = 256 * BYTES;

  private final SecureRandom random = new SecureRandom();
  // Drawing takes a lock of the whole process, so each thread draws for many stamps at once.
  private final ThreadLocal<ByteBuffer> drawn = ThreadLocal.withInitial(() -> (ByteBuffer) ByteBuffer.allocate(DRAWN)
      .position(DRAWN));
  private final String process = name();

  /** A stamp for a check that is about to be asked. CDAP acts only after the answer, so never before its time. */
  Stamp next() {
    return new Stamp(name(), process, System.currentTimeMillis());
  }

  private String name() {
    ByteBuffer left = drawn.get();
    if (!left.hasRemaining()) {
      random.nextBytes(left.array());
      left.rewind();
    }
    byte[] bytes = new byte[BYTES];
    left.get(bytes);
    StringBuilder name = new StringBuilder(2 * BYTES);
    for (byte each : bytes) {
      name.append(DIGITS.charAt(each >> 4 & 15)).append(DIGITS.charAt(each & 15));
    }
    return name.toString();
  }
}
