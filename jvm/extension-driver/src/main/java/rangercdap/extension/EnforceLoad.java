package rangercdap.extension;

import io.cdap.cdap.proto.id.NamespaceId;
import io.cdap.cdap.proto.security.Principal;
import io.cdap.cdap.proto.security.StandardPermission;
import io.cdap.cdap.security.spi.authorization.AccessControllerSpi;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;

/** Many threads that ask again and again, and how long each round trip took. */
final class EnforceLoad {

  private final int threads;
  private final long nanos;
  private final long pause;

  /** {@code pauseMs} is what each thread waits after an answer, in milliseconds. */
  EnforceLoad(int threads, double seconds, double pauseMs) {
    this.threads = threads;
    this.nanos = (long) (seconds * 1e9);
    this.pause = (long) (pauseMs * 1e6);
  }

  /** Each thread asks the extension, as CDAP does, for a user of its own. */
  void extension(AccessControllerSpi controller, Map<String, Object> result) throws Exception {
    run(number -> {
      Principal user = new Principal("user " + number, Principal.PrincipalType.USER);
      return () -> {
        controller.enforce(new NamespaceId("ns1"), user, StandardPermission.GET).isAuthorized();
        return null;
      };
    }, result);
  }

  /** Each thread sends the same bytes on a connection of its own and reads as many as the answer has; nothing else. */
  void bare(String host, int port, String request, int answerLength, Map<String, Object> result) throws Exception {
    byte[] bytes = request.getBytes(StandardCharsets.US_ASCII);
    run(number -> {
      Socket socket = new Socket(host, port);
      socket.setTcpNoDelay(true);
      OutputStream out = socket.getOutputStream();
      DataInputStream in = new DataInputStream(socket.getInputStream());
      byte[] answer = new byte[answerLength];
      return () -> {
        out.write(bytes);
        in.readFully(answer);
        return null;
      };
    }, result);
  }

  private void run(Asking asking, Map<String, Object> result) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      List<Future<long[]>> futures = new ArrayList<>();
      long began = System.nanoTime();
      for (int i = 0; i < threads; i++) {
        int number = i;
        futures.add(pool.submit(() -> times(asking.of(number), began + nanos)));
      }
      List<long[]> times = new ArrayList<>();
      for (Future<long[]> future : futures) {
        times.add(future.get());
      }
      double seconds = (System.nanoTime() - began) / 1e9;
      long[] all = times.stream().flatMapToLong(Arrays::stream).sorted().toArray();
      result.put("per_second", (double) all.length / seconds);
      result.put("p50_ms", all[all.length / 2] / 1e6);
      result.put("p99_ms", all[(int) (0.99 * all.length)] / 1e6);
    } finally {
      pool.shutdownNow();
    }
  }

  private long[] times(Callable<Void> ask, long end) throws Exception {
    long[] taken = new long[1 << 12];
    int count = 0;
    for (long now = System.nanoTime(); now < end; ) {
      ask.call();
      long after = System.nanoTime();
      if (count == taken.length) {
        taken = Arrays.copyOf(taken, 2 * count);
      }
      taken[count++] = after - now;
      LockSupport.parkNanos(pause);
      now = System.nanoTime();
    }
    return Arrays.copyOf(taken, count);
  }

  /** Makes what one thread does. */
  private interface Asking {
    Callable<Void> of(int thread) throws IOException;
  }
}
