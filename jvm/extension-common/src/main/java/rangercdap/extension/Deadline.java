package rangercdap.extension;

import java.io.Closeable;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The moment at which a call ends, whatever it is waiting for. One thread watches all calls of this process. */
final class Deadline {

  private static final ScheduledThreadPoolExecutor WATCH = watch();

  private final long at;

  Deadline(int milliseconds) {
    this.at = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(milliseconds);
  }

  /** Whether it has passed. */
  boolean hasPassed() {
    return left() <= 0;
  }

  /** The nanoseconds until then. */
  long left() {
    return at - System.nanoTime();
  }

  /** Close it then, unless the result is cancelled before; closing must not wait for anything. */
  Future<?> closes(Closeable closeable) {
    return WATCH.schedule(() -> {
      closeable.close();
      return null;
    }, left(), TimeUnit.NANOSECONDS);
  }

  private static ScheduledThreadPoolExecutor watch() {
    ScheduledThreadPoolExecutor watch = new ScheduledThreadPoolExecutor(1, new Daemons("deadlines"));
    watch.setRemoveOnCancelPolicy(true);
    return watch;
  }
}
