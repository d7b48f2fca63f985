package rangercdap.extension;

import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.MalformedURLException;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;

/** Posts JSON and reads the JSON of a 200; whatever else comes back is a failure. One deadline bounds a whole call. */
final class HttpService {

  private static final int TRIES = 2;

  private final URL base;
  private final ClientTls tls;
  private final int connectTimeout;
  private final int timeout;
  private final HostLookup lookup;
  private final KeptConnections kept = new KeptConnections();
  private final Map<String, String> heads = new ConcurrentHashMap<>();

  HttpService(URL base, ClientTls tls, int connectTimeout, int timeout) {
    this.base = base;
    this.tls = tls;
    this.connectTimeout = connectTimeout;
    this.timeout = timeout;
    this.lookup = new HostLookup(HttpConnection.host(base));
  }

  /** The question as it is sent. */
  static byte[] encoded(Map<String, Object> question) throws ServiceFailure {
    try {
      ByteBuffer text = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(Json.write(question)));
      byte[] body = new byte[text.remaining()];
      text.get(body);
      return body;
    } catch (CharacterCodingException e) {
      throw ServiceFailure.refused("a name in the question is no proper text", "");
    }
  }

  /** The deadline of a call that begins now. */
  Deadline deadline() {
    return new Deadline(timeout);
  }

  /** The answer to the question; where the connection breaks, it is asked once more on a new one. */
  Fields post(String path, Credentials credentials, byte[] body, Deadline deadline) throws ServiceFailure {
    byte[] request = request(path, credentials, body);
    ServiceFailure broken = null;
    for (int i = 0; i < TRIES && !deadline.hasPassed(); i++) {
      try {
        return usable(exchanged(i == 0 ? kept.take() : new HttpConnection(), request, deadline));
      } catch (IOException e) {
        broken = unanswered("the connection broke", e);
      }
    }
    throw broken == null || deadline.hasPassed() ? late() : broken;
  }

  private HttpAnswer exchanged(HttpConnection connection, byte[] request, Deadline deadline) throws IOException,
      ServiceFailure {
    Future<?> end = deadline.closes(connection);
    boolean keeps = false;
    try {
      if (!connection.isOpen()) {
        open(connection, deadline);
      }
      HttpAnswer answer = connection.exchange(request);
      keeps = answer.keepsConnection() && end.cancel(false);
      return answer;
    } finally {
      end.cancel(false);
      if (keeps) {
        kept.give(connection);
      } else {
        connection.close();
      }
    }
  }

  private void open(HttpConnection connection, Deadline deadline) throws ServiceFailure {
    try {
      connection.open(base, lookup.address(deadline), connectTimeout, tls);
    } catch (IOException e) {
      throw deadline.hasPassed() ? late() : unanswered("no connection", e);
    }
  }

  /** Secrets go to nobody else: no proxy is used and no redirect followed. */
  private byte[] request(String path, Credentials credentials, byte[] body) {
    String head = heads.computeIfAbsent(path, this::head)
        + "Authorization: " + credentials.header() + "\r\n"
        + "Content-Length: " + body.length + "\r\n\r\n";
    byte[] ascii = head.getBytes(StandardCharsets.US_ASCII);
    return ByteBuffer.allocate(ascii.length + body.length).put(ascii).put(body).array();
  }

  /** What is the same in all requests for a path. */
  private String head(String path) {
    try {
      return "POST " + new URL(base, path).getFile() + " HTTP/1.1\r\n"
          + "Host: " + base.getAuthority() + "\r\n"
          + "Content-Type: application/json\r\n"
          + "Accept: application/json\r\n"
          + "User-Agent: ranger-cdap-extension\r\n";
    } catch (MalformedURLException e) {
      throw new IllegalArgumentException(e);
    }
  }

  private static Fields usable(HttpAnswer answer) throws ServiceFailure {
    int status = answer.status();
    if (status == HttpURLConnection.HTTP_OK) {
      return parsed(answer.content());
    }
    String why = "HTTP status " + status;
    throw status >= 400 && status < 500 ? ServiceFailure.refused(why, said(answer.content()))
        : ServiceFailure.unusable(why);
  }

  private static Fields parsed(byte[] content) throws ServiceFailure {
    try {
      String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(content)).toString();
      return new Fields(Json.read(text));
    } catch (IOException e) {
      throw ServiceFailure.unusable("its answer is not JSON as agreed");
    }
  }

  /** The sentence of an error answer, for the log. */
  private static String said(byte[] content) {
    try {
      return parsed(content).text("message");
    } catch (ServiceFailure e) {
      return "";
    }
  }

  private ServiceFailure unanswered(String why, IOException e) {
    String refusal = tls.refusal(e);
    return ServiceFailure.unanswered(refusal == null ? why : refusal, base + ": " + e);
  }

  private ServiceFailure late() {
    return ServiceFailure.unanswered("no answer within " + timeout + " ms", base.toString());
  }
}
