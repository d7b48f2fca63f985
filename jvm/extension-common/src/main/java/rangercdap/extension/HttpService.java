package rangercdap.extension;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpRetryException;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.SocketTimeoutException;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Posts JSON and reads the JSON of a 200; whatever else comes back is a failure. Connections are kept and reused. */
final class HttpService {

  private static final int LONGEST_ANSWER = 4 << 20;

  private final URL base;
  private final int connectTimeout;
  private final int readTimeout;

  HttpService(URL base, int connectTimeout, int readTimeout) {
    this.base = base;
    this.connectTimeout = connectTimeout;
    this.readTimeout = readTimeout;
  }

  /** The answer to the question; a connection that fails is tried once more. */
  Fields post(String path, Credentials credentials, Map<String, Object> question) throws ServiceFailure {
    byte[] body = encoded(Json.write(question));
    try {
      return once(path, credentials, body);
    } catch (ServiceFailure e) {
      if (!e.isUnconnected()) {
        throw e;
      }
    }
    return once(path, credentials, body);
  }

  private Fields once(String path, Credentials credentials, byte[] body) throws ServiceFailure {
    HttpURLConnection connection = null;
    try {
      connection = opened(path, credentials, body.length);
      try (OutputStream out = connection.getOutputStream()) {
        out.write(body);
      }
      int status = connection.getResponseCode();
      if (status != HttpURLConnection.HTTP_OK) {
        throw failed(status, status < 400 ? "" : new String(content(connection.getErrorStream()),
            StandardCharsets.UTF_8));
      }
      byte[] content = content(connection.getInputStream());
      // Java does not tell an answer that was cut from one that has ended.
      if (connection.getContentLengthLong() >= 0 && connection.getContentLengthLong() != content.length) {
        throw new IOException("the answer was cut");
      }
      return parsed(content);
    } catch (SocketTimeoutException e) {
      throw dropped(connection, ServiceFailure.away("no answer within " + readTimeout + " ms"));
    } catch (HttpRetryException e) {
      throw failed(e.responseCode(), "");
    } catch (IOException e) {
      throw dropped(connection, ServiceFailure.unconnected("the connection broke", base + ": " + e));
    }
  }

  private HttpURLConnection opened(String path, Credentials credentials, int length) throws IOException,
      ServiceFailure {
    // Secrets go to nobody else: no proxy, no redirect. Of a fixed length, so that only we send it again.
    HttpURLConnection connection = (HttpURLConnection) new URL(base, path).openConnection(Proxy.NO_PROXY);
    connection.setConnectTimeout(connectTimeout);
    connection.setReadTimeout(readTimeout);
    connection.setInstanceFollowRedirects(false);
    connection.setUseCaches(false);
    connection.setRequestMethod("POST");
    connection.setDoOutput(true);
    connection.setFixedLengthStreamingMode(length);
    connection.setRequestProperty("Authorization", credentials.header());
    connection.setRequestProperty("Content-Type", "application/json");
    connection.setRequestProperty("Accept", "application/json");
    connection.setRequestProperty("User-Agent", "ranger-cdap-extension");
    try {
      connection.connect();
    } catch (IOException e) {
      throw ServiceFailure.unconnected("no connection", base + ": " + e);
    }
    return connection;
  }

  private byte[] content(InputStream stream) throws IOException, ServiceFailure {
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    if (stream == null) {
      return content.toByteArray();
    }
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(readTimeout);
    try (InputStream in = stream) {
      byte[] buffer = new byte[8 << 10];
      for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
        content.write(buffer, 0, n);
        if (content.size() > LONGEST_ANSWER) {
          throw ServiceFailure.away("its answer is too long");
        }
        if (System.nanoTime() - deadline > 0) {
          throw new SocketTimeoutException();
        }
      }
    }
    return content.toByteArray();
  }

  private static Fields parsed(byte[] content) throws ServiceFailure {
    try {
      String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(content)).toString();
      return new Fields(Json.read(text));
    } catch (IOException e) {
      throw ServiceFailure.away("its answer is not JSON as agreed");
    }
  }

  private static ServiceFailure failed(int status, String content) {
    String why = "HTTP status " + status;
    return status >= 400 && status < 500
        ? ServiceFailure.refused(why, said(content)) : ServiceFailure.away(why);
  }

  /** The sentence of an error answer, for the log. */
  private static String said(String content) {
    try {
      return new Fields(Json.read(content)).text("message");
    } catch (IOException | ServiceFailure e) {
      return "";
    }
  }

  private static ServiceFailure dropped(HttpURLConnection connection, ServiceFailure failure) {
    if (connection != null) {
      connection.disconnect();
    }
    return failure;
  }

  private static byte[] encoded(String text) throws ServiceFailure {
    try {
      ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
      byte[] body = new byte[bytes.remaining()];
      bytes.get(body);
      return body;
    } catch (CharacterCodingException e) {
      throw ServiceFailure.refused("a name in the question is no proper text", "");
    }
  }
}
