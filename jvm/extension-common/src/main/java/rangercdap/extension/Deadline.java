package rangercdap.extension;

import java.io.Closeable;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** The moment at which a call ends, whatever it is waiting for. A few threads watch all calls of this process. */
final class Deadline {

  // Each call takes a lock of its watch twice, so one for hundreds of threads would be what they wait for.
  private static final ScheduledThreadPoolExecutor[] WATCHES = Stream.generate(Deadline::watch).limit(4)
      .toArray(ScheduledThreadPoolExecutor[]::new);

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
    int watch = (int) (Thread.currentThread().getId() % WATCHES.length);
    return WATCHES[watch].schedule(() -> {
      closeable.close();
      return null;
    }, left(), TimeUnit.NANOSECONDS);
  }

  private static ScheduledThreadPoolExecutor watch() {
    ScheduledThreadPoolExecutor watch = new ScheduledThreadPoolExecutor(1, new Daemons("deadlines"));
    watch.setRemoveOnCancelPolicy(true);
    watch.prestartCoreThread(); // the number of threads does not depend on who has called
    return watch;
  }
}
