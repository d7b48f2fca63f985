package rangercdap.extension;

import java.io.IOException;
import java.util.Deque;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Connections without a question, the last used on top; an old one may be closed at the other side, so it goes. */
final class KeptConnections {

  // As many as CDAP has threads that ask at once; the service takes 256 of one address by default.
  private static final int MOST = 200;
  private static final long IDLE = TimeUnit.SECONDS.toNanos(5);

  private final Deque<Kept> kept = new ConcurrentLinkedDeque<>();
  private final AtomicInteger count = new AtomicInteger();

  /** One that can be asked on: a kept one, else a new one that is still to be opened. */
  HttpConnection take() throws IOException {
    for (Kept last = pop(); last != null; last = pop()) {
      if (System.nanoTime() - last.since < IDLE && last.connection.isQuiet()) {
        return last.connection;
      }
      last.connection.close();
    }
    return new HttpConnection();
  }

  /** Keep a connection whose answer was read to its end. */
  void give(HttpConnection connection) throws IOException {
    HttpConnection oldest = push(connection);
    if (oldest != null) {
      oldest.close();
    }
  }

  private Kept pop() {
    Kept last = kept.pollFirst();
    if (last != null) {
      count.decrementAndGet();
    }
    return last;
  }

  private HttpConnection push(HttpConnection connection) {
    kept.addFirst(new Kept(connection));
    if (count.incrementAndGet() <= MOST) {
      return null;
    }
    Kept oldest = kept.pollLast();
    if (oldest == null) {
      return null;
    }
    count.decrementAndGet();
    return oldest.connection;
  }

  private static final class Kept {

    private final HttpConnection connection;
    private final long since = System.nanoTime();

    Kept(HttpConnection connection) {
      this.connection = connection;
    }
  }
}
