package rangercdap.extension;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;

/** Connections without a question, the last used on top; an old one may be closed at the other side, so it goes. */
final class KeptConnections {

  private static final int MOST = 32;
  private static final long IDLE = TimeUnit.SECONDS.toNanos(5);

  private final Deque<Kept> kept = new ArrayDeque<>();

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

  private synchronized Kept pop() {
    return kept.pollFirst();
  }

  private synchronized HttpConnection push(HttpConnection connection) {
    kept.addFirst(new Kept(connection));
    return kept.size() > MOST ? kept.removeLast().connection : null;
  }

  private static final class Kept {

    private final HttpConnection connection;
    private final long since = System.nanoTime();

    Kept(HttpConnection connection) {
      this.connection = connection;
    }
  }
}
