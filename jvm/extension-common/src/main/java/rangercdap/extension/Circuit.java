package rangercdap.extension;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Whether the service is worth asking: not for a second after three unanswered calls in a row; then one call tries.
 *
 * <p>An unanswered call counts only if no answer has come since it began: what a slow or lost connection of a service
 * that lives has waited for says nothing about it. Until the call that tries has ended, all others are denied.
 */
final class Circuit {

  private static final int FAILURES = 3;
  private static final long PAUSE = TimeUnit.SECONDS.toNanos(1);

  private final LongSupplier nanoTime;
  // Another one with every answer and every pause: calls of an earlier one say nothing about now.
  private long turn;
  private int failures;
  private String lastFailure = "";
  private long pausedAt;
  private boolean trying;

  Circuit(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
  }

  /** The turn of a call that may begin; a failure where it may not. */
  synchronized long enter() throws ServiceFailure {
    if (failures >= FAILURES) {
      if (trying || nanoTime.getAsLong() - pausedAt < PAUSE) {
        throw ServiceFailure.notAsked(lastFailure);
      }
      trying = true;
    }
    return turn;
  }

  /** A call that began in that turn has ended; {@code failure} is why there was no answer, null where there was one. */
  synchronized void left(long entered, String failure) {
    if (failure == null) {
      failures = 0;
      nextTurn();
    } else if (entered == turn) {
      lastFailure = failure;
      failures++;
      if (failures >= FAILURES) {
        pausedAt = nanoTime.getAsLong();
        nextTurn();
      }
    }
  }

  private void nextTurn() {
    turn++;
    trying = false;
  }
}
