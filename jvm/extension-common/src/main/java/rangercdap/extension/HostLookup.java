package rangercdap.extension;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Looks the service's address up. Nothing ends a lookup early, so all callers wait for one, each to its deadline. */
final class HostLookup {

  private static final ExecutorService LOOKUPS = Executors.newFixedThreadPool(1, new Daemons("lookup"));

  private final String host;
  private Future<InetAddress> current;

  HostLookup(String host) {
    this.host = host;
  }

  /** The address of the host. */
  InetAddress address(Deadline deadline) throws IOException {
    try {
      return current().get(deadline.left(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      throw new IOException(e.getCause());
    } catch (TimeoutException e) {
      throw new IOException("the lookup of " + host + " takes too long");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException();
    }
  }

  private synchronized Future<InetAddress> current() {
    if (current == null || current.isDone()) {
      current = LOOKUPS.submit(() -> InetAddress.getByName(host));
    }
    return current;
  }
}
