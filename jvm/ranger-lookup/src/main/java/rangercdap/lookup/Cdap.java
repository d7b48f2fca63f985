package rangercdap.lookup;

import com.fasterxml.jackson.core.JsonProcessingException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.MalformedURLException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;

/** CDAP's REST API as the configured account sees it. */
final class Cdap {

  private static final int LONGEST_REFUSAL = 4 << 10;

  private final LookupConfig config;
  private final Deadline deadline;
  private final Http http;
  private final SignIn signIn;

  Cdap(LookupConfig config, Deadline deadline) {
    this.config = config;
    this.deadline = deadline;
    this.http = new Http(config, deadline);
    this.signIn = new SignIn(config, http);
  }

  /** What makes a result of the content of a good answer. */
  interface Reader<T> {
    T read(InputStream content) throws IOException;
  }

  /** Fail if there is no time left. */
  void checkTime() throws LookupFailure {
    deadline.left();
  }

  /** The result, null where the account may not look or nothing is there (403, 404). */
  <T> T get(String path, Reader<T> reader) throws LookupFailure {
    URL url = url(path);
    String header = signIn.header();
    Answer<T> answer = http.get(LookupConfig.URL, url, header, (status, content) -> answer(status, content, reader));
    if (answer.status == 401) {
      header = signIn.header(header, answer.servers);
      answer = http.get(LookupConfig.URL, url, header, (status, content) -> answer(status, content, reader));
    }
    if (answer.status == 401) {
      throw signIn.rejected();
    }
    if (answer.status != 200 && answer.status != 403 && answer.status != 404) {
      throw LookupFailure.of(LookupConfig.URL, "answered HTTP " + answer.status + " to GET " + path + ": "
          + LookupFailure.readable(answer.text));
    }
    return answer.result;
  }

  private URL url(String path) throws LookupFailure {
    try {
      return new URL(config.url() + path);
    } catch (MalformedURLException e) {
      throw LookupFailure.of(LookupConfig.URL, "is not an address that Java can use");
    }
  }

  private static <T> Answer<T> answer(int status, InputStream content, Reader<T> reader) throws IOException,
      LookupFailure {
    Answer<T> answer = new Answer<>();
    answer.status = status;
    if (status == 200) {
      try {
        answer.result = reader.read(content);
      } catch (JsonProcessingException | UnusableAnswer e) {
        throw LookupFailure.of(LookupConfig.URL, "does not answer as CDAP does: "
            + (e instanceof UnusableAnswer ? e.getMessage() : "its answer is not JSON"));
      }
    } else {
      answer.text = text(content);
      if (status == 401) {
        answer.servers = servers(answer.text);
      }
    }
    return answer;
  }

  private static List<String> servers(String text) {
    try {
      InputStream content = new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
      return NameReader.read(Listing.of("").in("auth_uri"), content).names();
    } catch (IOException e) {
      return Collections.emptyList(); // of a proxy
    }
  }

  private static String text(InputStream content) throws IOException {
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    for (int next = content.read(); next >= 0 && text.size() < LONGEST_REFUSAL; next = content.read()) {
      text.write(next);
    }
    return new String(text.toByteArray(), StandardCharsets.UTF_8);
  }

  private static final class Answer<T> {

    private int status;
    private T result;
    private String text = "";
    private List<String> servers = Collections.emptyList();
  }
}
