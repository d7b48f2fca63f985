package rangercdap.extension;

import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** The name and the secret with which the extension calls the decision service; it prints the name only. */
final class Credentials {

  private final String name;
  private final String header;

  Credentials(String name, String secret) {
    this.name = name;
    byte[] pair = (name + ":" + secret).getBytes(StandardCharsets.UTF_8);
    this.header = "Basic " + Base64.getEncoder().encodeToString(pair);
  }

  /** The value of the header {@code Authorization}. */
  String header() {
    return header;
  }

  @Override
  public String toString() {
    return name;
  }
}
