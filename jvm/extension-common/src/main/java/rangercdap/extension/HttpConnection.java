package rangercdap.extension;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.Socket;
import java.net.URL;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/** A connection to the service. Closing it, from any thread, ends at once whatever waits for it. */
final class HttpConnection implements Closeable {

  // Always closed itself, never the TLS around it: that would wait until the other side reads.
  private final Socket socket = new Socket(Proxy.NO_PROXY);
  private InputStream in;
  private OutputStream out;

  /** Whether it was opened. */
  boolean isOpen() {
    return in != null;
  }

  /** Connect, with TLS if the address says so. */
  void open(URL url, InetAddress address, int timeout, ClientTls tls) throws IOException {
    int port = url.getPort() < 0 ? url.getDefaultPort() : url.getPort();
    socket.setTcpNoDelay(true);
    socket.connect(new InetSocketAddress(address, port), timeout);
    Socket speaking = url.getProtocol().equals("https") ? encrypted(host(url), port, tls.factory()) : socket;
    out = speaking.getOutputStream();
    in = new BufferedInputStream(speaking.getInputStream());
  }

  /** Send the request and read its answer. */
  HttpAnswer exchange(byte[] request) throws IOException, ServiceFailure {
    out.write(request);
    out.flush();
    return HttpAnswer.read(in);
  }

  /** Whether nothing has come that was not asked for, and would be taken for the next answer. */
  boolean isQuiet() {
    try {
      return in.available() == 0;
    } catch (IOException e) {
      return false;
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }

  /** The host as a certificate names it. */
  static String host(URL url) {
    return url.getHost().replaceAll("[\\[\\]]", "");
  }

  private Socket encrypted(String host, int port, SSLSocketFactory factory) throws IOException {
    SSLSocket encrypted = (SSLSocket) factory.createSocket(socket, host, port, true);
    SSLParameters parameters = encrypted.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    encrypted.setSSLParameters(parameters);
    encrypted.startHandshake();
    return encrypted;
  }
}
