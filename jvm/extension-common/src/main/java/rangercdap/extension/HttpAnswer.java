package rangercdap.extension;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An HTTP/1.1 answer, read strictly: one whose end is in doubt is unusable, one that was cut is an IOException. */
final class HttpAnswer {

  private static final int LONGEST_CONTENT = 4 << 20;
  // All that is not content: heads, those of interim answers too, and what stands between chunks.
  private static final int LONGEST_HEADS = 64 << 10;
  private static final Pattern STATUS = Pattern.compile("HTTP/1\\.([01]) ([1-5][0-9]{2})(?: .*)?");
  private static final Pattern FIELD = Pattern.compile("([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*");
  private static final Pattern LENGTH = Pattern.compile("[0-9]{1,18}");
  private static final Pattern CHUNK = Pattern.compile("([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?");

  private final InputStream in;
  private final ByteArrayOutputStream content = new ByteArrayOutputStream();
  private int headsLeft = LONGEST_HEADS;
  private int status;
  private boolean keepsConnection;

  private HttpAnswer(InputStream in) {
    this.in = in;
  }

  /** The next answer; interim ones before it are skipped. */
  static HttpAnswer read(InputStream in) throws IOException, ServiceFailure {
    HttpAnswer answer = new HttpAnswer(in);
    Map<String, String> fields;
    do {
      answer.readStatus();
      fields = answer.fields();
    } while (answer.isInterim());
    answer.readContent(fields);
    return answer;
  }

  /** The status. */
  int status() {
    return status;
  }

  /** What came after the head. */
  byte[] content() {
    return content.toByteArray();
  }

  /** Whether another question may be asked on its connection. */
  boolean keepsConnection() {
    return keepsConnection;
  }

  private boolean isInterim() {
    return status < 200 && status != 101;
  }

  private void readStatus() throws IOException, ServiceFailure {
    Matcher line = matched(STATUS, line());
    status = Integer.parseInt(line.group(2));
    keepsConnection = line.group(1).equals("1");
  }

  private Map<String, String> fields() throws IOException, ServiceFailure {
    Map<String, String> fields = new HashMap<>();
    for (String line = line(); !line.isEmpty(); line = line()) {
      Matcher field = matched(FIELD, line);
      fields.merge(field.group(1).toLowerCase(Locale.ROOT), field.group(2), (first, next) -> first + ", " + next);
    }
    return fields;
  }

  private void readContent(Map<String, String> fields) throws IOException, ServiceFailure {
    String length = fields.get("content-length");
    String coding = fields.get("transfer-encoding");
    keepsConnection &= !fields.getOrDefault("connection", "").toLowerCase(Locale.ROOT).contains("close");
    if (status == 101 || status == 204 || status == 304) {
      keepsConnection &= status != 101 && coding == null && (length == null || length.equals("0"));
    } else if (coding != null) {
      if (!coding.equalsIgnoreCase("chunked") || length != null) {
        throw wrong();
      }
      readChunks();
    } else if (length != null) {
      read(Long.parseLong(matched(LENGTH, length).group()));
    } else {
      keepsConnection = false;
      readToTheEnd();
    }
  }

  private void readChunks() throws IOException, ServiceFailure {
    for (long size = chunk(); size > 0; size = chunk()) {
      read(size);
      if (!line().isEmpty()) {
        throw wrong();
      }
    }
    fields();
  }

  private long chunk() throws IOException, ServiceFailure {
    return Long.parseLong(matched(CHUNK, line()).group(1), 16);
  }

  private void read(long size) throws IOException, ServiceFailure {
    if (size > LONGEST_CONTENT - content.size()) {
      throw ServiceFailure.unusable("its answer is too long");
    }
    byte[] buffer = new byte[8 << 10];
    for (int left = (int) size; left > 0;) {
      int n = in.read(buffer, 0, Math.min(left, buffer.length));
      if (n < 0) {
        throw new EOFException("the answer was cut");
      }
      content.write(buffer, 0, n);
      left -= n;
    }
  }

  private void readToTheEnd() throws IOException, ServiceFailure {
    byte[] buffer = new byte[8 << 10];
    for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
      if (n > LONGEST_CONTENT - content.size()) {
        throw ServiceFailure.unusable("its answer is too long");
      }
      content.write(buffer, 0, n);
    }
  }

  private String line() throws IOException, ServiceFailure {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    for (int next = in.read(); next != '\n'; next = in.read()) {
      if (next < 0) {
        throw new EOFException("the answer was cut");
      }
      line.write(next);
      if (--headsLeft < 0) {
        throw ServiceFailure.unusable("its answer has a head that is too long");
      }
    }
    String text = new String(line.toByteArray(), StandardCharsets.ISO_8859_1);
    return text.endsWith("\r") ? text.substring(0, text.length() - 1) : text;
  }

  private static Matcher matched(Pattern pattern, String text) throws ServiceFailure {
    Matcher matcher = pattern.matcher(text);
    if (!matcher.matches()) {
      throw wrong();
    }
    return matcher;
  }

  private static ServiceFailure wrong() {
    return ServiceFailure.unusable("its answer is not HTTP as agreed");
  }
}
