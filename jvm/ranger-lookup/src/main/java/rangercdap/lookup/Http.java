package rangercdap.lookup;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.UnknownHostException;
import java.security.GeneralSecurityException;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLPeerUnverifiedException;
import org.apache.http.Header;
import org.apache.http.HttpEntity;
import org.apache.http.HttpResponse;
import org.apache.http.client.ClientProtocolException;
import org.apache.http.client.HttpClient;
import org.apache.http.client.config.RequestConfig;
import org.apache.http.client.methods.HttpGet;
import org.apache.http.config.ConnectionConfig;
import org.apache.http.config.MessageConstraints;
import org.apache.http.config.RegistryBuilder;
import org.apache.http.conn.socket.ConnectionSocketFactory;
import org.apache.http.conn.socket.PlainConnectionSocketFactory;
import org.apache.http.conn.ssl.DefaultHostnameVerifier;
import org.apache.http.conn.ssl.SSLConnectionSocketFactory;
import org.apache.http.impl.client.HttpClients;
import org.apache.http.impl.conn.PoolingHttpClientConnectionManager;

/** GET requests within a deadline. Secrets go to nobody else: no proxy is used and no redirect followed. */
final class Http {

  private static final int LONGEST_CONTENT = 16 << 20;
  private static final int LONGEST_LINE = 16 << 10;
  private static final int MOST_HEADERS = 100;
  private static final int MOST_CONNECTIONS = 32;
  private static final int IDLE_SECONDS = 30;

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

  /** A client that has no state but open connections, and nothing of the JVM: no proxies, cookies or sign-in. */
  static HttpClient client(SSLContext tls) {
    PoolingHttpClientConnectionManager connections = new PoolingHttpClientConnectionManager(
        RegistryBuilder.<ConnectionSocketFactory>create()
            .register("http", PlainConnectionSocketFactory.getSocketFactory())
            .register("https", new SSLConnectionSocketFactory(tls, new DefaultHostnameVerifier()))
            .build(), null, null, null, IDLE_SECONDS, TimeUnit.SECONDS);
    connections.setMaxTotal(MOST_CONNECTIONS);
    connections.setDefaultMaxPerRoute(MOST_CONNECTIONS);
    connections.setValidateAfterInactivity(1);
    connections.setDefaultConnectionConfig(ConnectionConfig.custom().setMessageConstraints(
        MessageConstraints.custom().setMaxHeaderCount(MOST_HEADERS).setMaxLineLength(LONGEST_LINE).build()).build());
    return HttpClients.custom().setConnectionManager(connections).disableAutomaticRetries().disableRedirectHandling()
        .disableCookieManagement().disableAuthCaching().disableContentCompression().setUserAgent("ranger-cdap-lookup")
        .build();
  }

  /** The result of asking {@code url}, which the setting {@code field} has. */
  <T> T get(String field, URL url, String authorization, Reader<T> reader) throws LookupFailure {
    HttpGet request = request(field, url, authorization);
    deadline.watch(request::abort);
    try {
      HttpResponse response = Trust.client(config.caFile()).execute(request);
      int status = response.getStatusLine().getStatusCode();
      if (status / 100 == 3) {
        Header location = response.getFirstHeader("Location");
        throw LookupFailure.of(field, "is not the address of CDAP itself: " + place(url) + " redirects to "
            + LookupFailure.readable(location == null ? "" : location.getValue()));
      }
      HttpEntity entity = response.getEntity();
      BoundedContent content = new BoundedContent(
          entity == null ? new ByteArrayInputStream(new byte[0]) : entity.getContent(), LONGEST_CONTENT);
      T result = reader.read(status, content);
      content.readToTheEnd();
      return result;
    } catch (IOException e) {
      deadline.left();
      throw failure(field, url, e);
    } finally {
      request.abort();
      deadline.release();
    }
  }

  private HttpGet request(String field, URL url, String authorization) throws LookupFailure {
    HttpGet request;
    try {
      request = new HttpGet(url.toURI());
    } catch (URISyntaxException e) {
      throw LookupFailure.of(field, "is not an address that Java can use");
    }
    int left = deadline.left();
    request.setConfig(RequestConfig.custom().setConnectTimeout(left).setSocketTimeout(left)
        .setConnectionRequestTimeout(left).setAuthenticationEnabled(false).build());
    request.setHeader("Accept", "application/json");
    if (authorization != null) {
      request.setHeader("Authorization", authorization);
    }
    return request;
  }

  private static LookupFailure failure(String field, URL url, IOException e) {
    String place = place(url);
    if (e instanceof UnknownHostException) {
      return LookupFailure.down(field, "names an unknown host: " + place);
    }
    if (e instanceof ConnectException || e instanceof NoRouteToHostException) {
      return LookupFailure.down(field, "cannot be reached: no connection to " + place);
    }
    if (e instanceof InterruptedIOException) {
      return LookupFailure.down(field, "cannot be reached in time: no answer from " + place);
    }
    if (e instanceof SSLPeerUnverifiedException) {
      return LookupFailure.of(field, "names a host that the certificate of " + place + " is not for");
    }
    if (isOfCertificate(e)) {
      return LookupFailure.of(LookupConfig.CA_FILE, "names no authority of the certificate of " + place + ", or it has "
          + "expired: " + LookupFailure.readable(String.valueOf(e.getMessage())));
    }
    Throwable cause = e instanceof ClientProtocolException && e.getCause() != null ? e.getCause() : e;
    return LookupFailure.down(field, "gave no usable answer: " + place + ": "
        + LookupFailure.readable(String.valueOf(cause.getMessage())));
  }

  private static boolean isOfCertificate(Throwable failure) {
    return failure != null && (failure instanceof GeneralSecurityException || isOfCertificate(failure.getCause()));
  }

  private static String place(URL url) {
    return url.getProtocol() + "://" + url.getAuthority();
  }
}
