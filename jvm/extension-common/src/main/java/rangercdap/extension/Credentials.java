package rangercdap.extension;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The name and the secret with which the extension calls the decision service; it prints the name only.
 *
 * <p>The secret is read again when its file changes. A file that cannot be used leaves the secret read before in use.
 */
final class Credentials {

  private static final Logger LOG = LoggerFactory.getLogger(Credentials.class);
  private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final String name;
  private final String setting;
  private final String file;
  private volatile String header;
  private volatile List<Object> stamp;
  private volatile long lookedAt = System.nanoTime();

  /** {@code setting} is the name that a complaint about the file uses. */
  Credentials(String name, String setting, String file) {
    this.name = name;
    this.setting = setting;
    this.file = file;
    this.stamp = stamp(file);
    this.header = header(name, SecretFile.read(setting, file));
  }

  /** The value of the header {@code Authorization}, by what the file held a second ago at most. */
  String header() {
    long now = System.nanoTime();
    if (now - lookedAt >= LOOK_NANOS) {
      lookedAt = now;
      readIfChanged();
    }
    return header;
  }

  private void readIfChanged() {
    List<Object> found = stamp(file);
    if (found.equals(stamp)) {
      return;
    }
    try {
      header = header(name, SecretFile.read(setting, file));
      LOG.info("{} has changed and was read again", setting);
    } catch (BadSetting e) {
      LOG.warn("{}; the secret read before stays in use", e.getMessage());
    }
    stamp = found;
  }

  private static List<Object> stamp(String file) {
    try {
      BasicFileAttributes found = Files.readAttributes(Paths.get(file), BasicFileAttributes.class);
      return Arrays.asList(found.fileKey(), found.size(), found.lastModifiedTime());
    } catch (IOException | IllegalArgumentException e) {
      return Collections.emptyList();
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
