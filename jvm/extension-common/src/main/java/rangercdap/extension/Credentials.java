package rangercdap.extension;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Collections;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The name and the secret with which the extension calls the decision service; it prints the name only.
 *
 * <p>The secret is read again when its file changes. A file that cannot be used leaves the secret read before in use.
 */
final class Credentials {

  private static final Logger LOG = LoggerFactory.getLogger(Credentials.class);

  private final String name;
  private final String setting;
  private final String file;
  private final WatchedFiles watched;
  private volatile String header;

  /** {@code setting} is the name that a complaint about the file uses. */
  Credentials(String name, String setting, String file) {
    this.name = name;
    this.setting = setting;
    this.file = file;
    this.watched = new WatchedFiles(Collections.singletonList(file));
    this.header = header(name, SecretFile.read(setting, file));
  }

  /** The value of the header {@code Authorization}, by what the file held a second ago at most. */
  String header() {
    watched.ifChanged(this::readAgain);
    return header;
  }

  private void readAgain() {
    try {
      header = header(name, SecretFile.read(setting, file));
      LOG.info("{} has changed and was reloaded", setting);
    } catch (BadSetting e) {
      LOG.warn("{}; the previous secret stays in use", e.getMessage());
    }
  }

  private static String header(String name, String secret) {
    return "Basic " + Base64.getEncoder().encodeToString((name + ":" + secret).getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public String toString() {
    return name;
  }
}
