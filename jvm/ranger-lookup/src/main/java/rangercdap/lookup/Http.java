package rangercdap.lookup;

import java.io.ByteArrayInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.HttpURLConnection;
import java.net.NoRouteToHostException;
import java.net.Proxy;
import java.net.SocketTimeoutException;
import java.net.URL;
import java.net.UnknownHostException;
import java.security.GeneralSecurityException;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLPeerUnverifiedException;

/** GET requests within a deadline. Secrets go to nobody else: no proxy is used and no redirect followed. */
final class Http {

  private static final int LONGEST_CONTENT = 16 << 20;

  private final LookupConfig config;
  private final Deadline deadline;

  Http(LookupConfig config, Deadline deadline) {
    this.config = config;
    this.deadline = deadline;
  }

  /** What makes a result of an answer; it need not read the content to its end. */
  interface Reader<T> {
    T read(int status, InputStream content) throws IOException, LookupFailure;
  }

  /** The result of asking {@code url}, which the setting {@code field} has. */
  <T> T get(String field, URL url, String authorization, Reader<T> reader) throws LookupFailure {
    try {
      HttpURLConnection connection = open(url);
      deadline.watch(connection);
      if (authorization != null) {
        connection.setRequestProperty("Authorization", authorization);
      }
      int status = connection.getResponseCode();
      if (status < 0) {
        throw LookupFailure.of(field, "is not of CDAP: what answers at " + place(url) + " does not speak HTTP");
      }
      if (status / 100 == 3) {
        throw LookupFailure.of(field, "is not the address of CDAP itself: " + place(url) + " redirects to "
            + LookupFailure.readable(String.valueOf(connection.getHeaderField("Location"))));
      }
      try (InputStream content = content(connection, status)) {
        T result = reader.read(status, content);
        deadline.release();
        return result;
      }
    } catch (IOException e) {
      deadline.left();
      throw failure(field, url, e);
    }
  }

  private HttpURLConnection open(URL url) throws IOException, LookupFailure {
    HttpURLConnection connection = (HttpURLConnection) url.openConnection(Proxy.NO_PROXY);
    if (connection instanceof HttpsURLConnection) {
      HttpsURLConnection encrypted = (HttpsURLConnection) connection;
      encrypted.setSSLSocketFactory(Trust.factory(config.caFile()));
      // Asked only where a certificate is not for the host; another service of this JVM may have set one that agrees.
      encrypted.setHostnameVerifier((host, session) -> false);
    }
    connection.setInstanceFollowRedirects(false);
    connection.setUseCaches(false);
    connection.setAllowUserInteraction(false);
    connection.setConnectTimeout(deadline.left());
    connection.setReadTimeout(deadline.left());
    connection.setRequestProperty("Accept", "application/json");
    connection.setRequestProperty("User-Agent", "ranger-cdap-lookup");
    return connection;
  }

  private InputStream content(HttpURLConnection connection, int status) throws IOException {
    InputStream content = status < 400 ? connection.getInputStream() : connection.getErrorStream();
    return new FilterInputStream(content == null ? new ByteArrayInputStream(new byte[0]) : content) {
      private long left = LONGEST_CONTENT;

      @Override
      public int read() throws IOException {
        int one = super.read();
        count(one < 0 ? 0 : 1);
        return one;
      }

      @Override
      public int read(byte[] buffer, int offset, int length) throws IOException {
        int n = super.read(buffer, offset, length);
        count(n);
        return n;
      }

      private void count(int n) throws IOException {
        left -= Math.max(0, n);
        if (left < 0) {
          throw new UnusableAnswer("it is too long");
        }
        if (Thread.currentThread().isInterrupted()) {
          throw new IOException("late");
        }
      }
    };
  }

  private static LookupFailure failure(String field, URL url, IOException e) {
    String place = place(url);
    if (e instanceof UnknownHostException) {
      return LookupFailure.down(field, "names an unknown host: " + place);
    }
    if (e instanceof ConnectException || e instanceof NoRouteToHostException) {
      return LookupFailure.down(field, "cannot be reached: no connection to " + place);
    }
    if (e instanceof SocketTimeoutException) {
      return LookupFailure.down(field, "cannot be reached in time: no answer from " + place);
    }
    if (e instanceof SSLPeerUnverifiedException || String.valueOf(e.getMessage()).contains("HTTPS hostname wrong")) {
      return LookupFailure.of(field, "names a host that the certificate of " + place + " is not for");
    }
    if (isOfCertificate(e)) {
      return LookupFailure.of(LookupConfig.CA_FILE, "names no authority of the certificate of " + place + ", or it has "
          + "expired: " + LookupFailure.readable(String.valueOf(e.getMessage())));
    }
    return LookupFailure.down(field, "gave no usable answer: " + place + ": "
        + LookupFailure.readable(String.valueOf(e.getMessage())));
  }

  private static boolean isOfCertificate(Throwable failure) {
    return failure != null && (failure instanceof GeneralSecurityException || isOfCertificate(failure.getCause()));
  }

  private static String place(URL url) {
    return url.getProtocol() + "://" + url.getAuthority();
  }
}
