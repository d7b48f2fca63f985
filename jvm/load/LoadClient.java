import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Asks a server again and again and prints how fast it answered, as one line of JSON.
 *
 * <p>Usage: {@code java LoadClient.java HOST PORT PATH AUTHORIZATION BODIES CONNECTIONS SECONDS RATE}. {@code BODIES}
 * is a file with one body a line, sent in turn; {@code RATE} is requests a second over all connections, 0 for as many
 * as go. With a rate, a request's time counts from the moment it was due, so that waiting behind a slow one is not left
 * out.
 */
public final class LoadClient {

  private final String host;
  private final int port;
  private final byte[][] requests;
  private final long nanosBetween;
  private final AtomicInteger next = new AtomicInteger();
  private final AtomicInteger failed = new AtomicInteger();
  private final List<long[]> times = new ArrayList<>();
  private long began;
  private long end;

  private LoadClient(String host, int port, byte[][] requests, double rate) {
    this.host = host;
    this.port = port;
    this.requests = requests;
    this.nanosBetween = rate > 0 ? (long) (1e9 / rate) : 0;
  }

  public static void main(String[] args) throws Exception {
    String host = args[0];
    int port = Integer.parseInt(args[1]);
    String head = "POST " + args[2] + " HTTP/1.1\r\nHost: " + host + ":" + port + "\r\nAuthorization: " + args[3]
        + "\r\nContent-Type: application/json\r\nContent-Length: ";
    List<byte[]> requests = new ArrayList<>();
    for (String body : Files.readAllLines(Path.of(args[4]))) {
      requests.add(request(head, body.getBytes(StandardCharsets.UTF_8)));
    }
    int connections = Integer.parseInt(args[5]);
    double seconds = Double.parseDouble(args[6]);
    double rate = Double.parseDouble(args[7]);
    new LoadClient(host, port, requests.toArray(new byte[0][]), rate).run(connections, seconds);
  }

  private static byte[] request(String head, byte[] body) {
    byte[] start = (head + body.length + "\r\n\r\n").getBytes(StandardCharsets.ISO_8859_1);
    byte[] whole = Arrays.copyOf(start, start.length + body.length);
    System.arraycopy(body, 0, whole, start.length, body.length);
    return whole;
  }

  private void run(int connections, double seconds) throws InterruptedException {
    began = System.nanoTime();
    end = began + (long) (seconds * 1e9);
    Thread[] threads = new Thread[connections];
    for (int i = 0; i < connections; i++) {
      threads[i] = new Thread(this::ask);
      threads[i].start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    double took = (System.nanoTime() - began) / 1e9;
    long[] all = times.stream().flatMapToLong(Arrays::stream).sorted().toArray();
    System.out.printf(
        Locale.ROOT,
        "{\"requests\": %d, \"failed\": %d, \"seconds\": %.3f, \"per_second\": %.1f, \"p50_ms\": %.3f, "
            + "\"p99_ms\": %.3f, \"max_ms\": %.3f}%n",
        all.length, failed.get(), took, all.length / took, at(all, 0.50), at(all, 0.99), at(all, 1.0));
  }

  private static double at(long[] sorted, double share) {
    return sorted.length == 0 ? -1 : sorted[Math.min(sorted.length - 1, (int) (share * sorted.length))] / 1e6;
  }

  private void ask() {
    long[] mine = new long[1 << 16];
    int count = 0;
    try (Socket socket = new Socket(host, port)) {
      socket.setTcpNoDelay(true);
      OutputStream out = socket.getOutputStream();
      InputStream in = new BufferedInputStream(socket.getInputStream(), 1 << 16);
      while (true) {
        int number = next.getAndIncrement();
        long due = nanosBetween > 0 ? began + number * nanosBetween : System.nanoTime();
        if (due >= end) {
          break;
        }
        for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
          LockSupport.parkNanos(left);
        }
        out.write(requests[number % requests.length]);
        if (readAnswer(in) != 200) {
          failed.incrementAndGet();
        }
        if (count == mine.length) {
          mine = Arrays.copyOf(mine, 2 * count);
        }
        mine[count++] = System.nanoTime() - due;
      }
    } catch (IOException e) {
      failed.incrementAndGet();
    }
    synchronized (times) {
      times.add(Arrays.copyOf(mine, count));
    }
  }

  /** Reads one answer whole and returns its status. */
  private static int readAnswer(InputStream in) throws IOException {
    int status = Integer.parseInt(readLine(in).split(" ")[1]);
    int length = 0;
    for (String line = readLine(in); !line.isEmpty(); line = readLine(in)) {
      if (line.regionMatches(true, 0, "content-length:", 0, 15)) {
        length = Integer.parseInt(line.substring(15).trim());
      }
    }
    in.skipNBytes(length);
    return status;
  }

  private static String readLine(InputStream in) throws IOException {
    StringBuilder line = new StringBuilder();
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0) {
        throw new IOException("the connection ended");
      }
      if (c != '\r') {
        line.append((char) c);
      }
    }
    return line.toString();
  }
}
