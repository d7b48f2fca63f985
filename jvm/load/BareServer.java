import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Answers every HTTP request on a kept connection with the same bytes, whatever it says.
 *
 * <p>Usage: {@code java BareServer.java ANSWER}, a file with the whole answer. It prints its port and ends with its
 * standard input.
 */
public final class BareServer {

  private BareServer() {
  }

  public static void main(String[] args) throws IOException {
    byte[] answer = Files.readAllBytes(Path.of(args[0]));
    ServerSocket listening = new ServerSocket(0, 1_024, InetAddress.getLoopbackAddress());
    System.out.println(listening.getLocalPort());
    Thread accepting = new Thread(() -> accept(listening, answer));
    accepting.setDaemon(true);
    accepting.start();
    System.in.read();
  }

  private static void accept(ServerSocket listening, byte[] answer) {
    try {
      while (true) {
        Socket socket = listening.accept();
        Thread serving = new Thread(() -> serve(socket, answer));
        serving.setDaemon(true);
        serving.start();
      }
    } catch (IOException e) {
      System.err.println(e);
    }
  }

  private static void serve(Socket socket, byte[] answer) {
    try (socket) {
      socket.setTcpNoDelay(true);
      InputStream in = new BufferedInputStream(socket.getInputStream());
      OutputStream out = socket.getOutputStream();
      while (skipRequest(in)) {
        out.write(answer);
      }
    } catch (IOException e) {
      // the client has gone
    }
  }

  /** Reads one request whole; false at the end of the connection. */
  private static boolean skipRequest(InputStream in) throws IOException {
    int length = 0;
    for (String line = readLine(in); !line.isEmpty(); line = readLine(in)) {
      if (line.equals("\0")) {
        return false;
      }
      if (line.regionMatches(true, 0, "content-length:", 0, 15)) {
        length = Integer.parseInt(line.substring(15).trim());
      }
    }
    in.skipNBytes(length);
    return true;
  }

  private static String readLine(InputStream in) throws IOException {
    StringBuilder line = new StringBuilder();
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0) {
        return "\0";
      }
      if (c != '\r') {
        line.append((char) c);
      }
    }
    return line.toString();
  }
}
