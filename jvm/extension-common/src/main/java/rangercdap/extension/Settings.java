package rangercdap.extension;

import java.net.URL;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What {@code security.authorization.extension.config.*} of cdap-site.xml says, checked; it never holds a secret. */
final class Settings {

  private static final Logger LOG = LoggerFactory.getLogger(Settings.class);

  private static final String PREFIX = "security.authorization.extension.config.";
  private static final String SECRET_FILE = ".secret.file";
  // CDAP itself passes the two of its own cache.
  private static final List<String> KNOWN = Collections.unmodifiableList(Arrays.asList(
      "url", "allow.plain.http", "tls.certificate.file", "tls.key.file", "enforce.name", "enforce.secret.file",
      "audit.name", "audit.secret.file", "grant.name", "grant.secret.file", "instance.name", "connect.timeout.ms",
      "read.timeout.ms", "cache.seconds", "cache.max.entries", "cache.ttl.secs", "master.user", "admin.users"));
  private static final int LONGEST_TIMEOUT = 60_000;
  private static final int LONGEST_CACHE = 5;
  private static final int MOST_ENTRIES = 10_000;

  private final Properties properties;

  Settings(Properties properties) {
    this.properties = properties;
    for (String key : new TreeSet<>(properties.stringPropertyNames())) {
      if (key.contains("secret") && !key.endsWith(SECRET_FILE) || key.contains("password")) {
        throw new BadSetting(PREFIX + key + " must go: settings are shown by CDAP, so a secret is kept in a file, "
            + "which " + PREFIX + "enforce.secret.file names");
      }
      if (!KNOWN.contains(key)) {
        LOG.warn("{}{} is no setting of this extension and changes nothing", PREFIX, key);
      }
    }
  }

  /** The address of the decision service. */
  URL url() {
    URL url = Address.checked(text("url", "http://127.0.0.1:6500"), PREFIX + "url", PREFIX + "allow.plain.http",
        isTrue("allow.plain.http"));
    if (Address.isExposed(url)) {
      LOG.warn("{}url is {}: whoever is on the way can read its secrets and change its decisions; use https",
          PREFIX, url);
    }
    return url;
  }

  /** How the service is asked by https; the certificate that CDAP shows it, if there is one, has been read. */
  ClientTls tls() {
    String setting = PREFIX + "tls.certificate.file";
    String certificate = text("tls.certificate.file", "");
    String key = text("tls.key.file", "");
    if (certificate.isEmpty() && key.isEmpty()) {
      return new ClientTls(setting, null);
    }
    if (certificate.isEmpty() || key.isEmpty()) {
      throw new BadSetting(setting + " and tls.key.file go together: set both, or neither");
    }
    if (!url().getProtocol().equals("https")) {
      throw new BadSetting(setting + " needs TLS: url must begin with https");
    }
    return new ClientTls(setting, new KeyPairFiles(setting, certificate, PREFIX + "tls.key.file", key));
  }

  /** Who asks for decisions. */
  Credentials enforce() {
    Credentials credentials = credentials("enforce");
    if (credentials == null) {
      throw new BadSetting(PREFIX + "enforce.secret.file is missing: it names the file with the secret that the "
          + "decision service knows");
    }
    return credentials;
  }

  /** Who brings audit records; null where none are to be brought. */
  Credentials audit() {
    return credentials("audit");
  }

  /** Who asks for grants; null where grants are refused. */
  Credentials grant() {
    return credentials("grant");
  }

  /** The name of the CDAP instance in Ranger. */
  String instance() {
    return text("instance.name", "cdap");
  }

  /** The longest time to connect, in milliseconds. */
  int connectTimeout() {
    return number("connect.timeout.ms", 2_000, 1, LONGEST_TIMEOUT);
  }

  /** The longest time to wait for an answer, in milliseconds. */
  int readTimeout() {
    return number("read.timeout.ms", 5_000, 1, LONGEST_TIMEOUT);
  }

  /** How long an allowed answer may be used again: at most five seconds, 0 is not at all. */
  int cacheSeconds() {
    return Math.min(LONGEST_CACHE, number("cache.seconds", LONGEST_CACHE, 0, Integer.MAX_VALUE));
  }

  /** How many answers are kept; 0 is none. */
  int cacheEntries() {
    return Math.max(0, Math.min(MOST_ENTRIES, number("cache.max.entries", MOST_ENTRIES, Integer.MIN_VALUE,
        Integer.MAX_VALUE)));
  }

  /** The user CDAP's master runs as. */
  String masterUser() {
    return text("master.user", System.getProperty("user.name", ""));
  }

  /** Whom CDAP proposes as administrators; the settings of the service decide. */
  List<String> adminUsers() {
    String text = text("admin.users", "");
    return text.isEmpty() ? Collections.<String>emptyList() : Arrays.asList(text.split("\\s*,\\s*"));
  }

  private Credentials credentials(String role) {
    String file = text(role + SECRET_FILE, "");
    if (file.isEmpty()) {
      return null;
    }
    String name = text(role + ".name", "cdap-" + role);
    if (name.indexOf(':') >= 0) {
      throw new BadSetting(PREFIX + role + ".name must not hold a colon");
    }
    return new Credentials(name, PREFIX + role + SECRET_FILE, file);
  }

  private String text(String key, String otherwise) {
    String text = properties.getProperty(key, "").trim();
    return text.isEmpty() ? otherwise : text;
  }

  private boolean isTrue(String key) {
    String text = text(key, "false");
    if (!text.equals("true") && !text.equals("false")) {
      throw new BadSetting(PREFIX + key + " must be true or false");
    }
    return text.equals("true");
  }

  private int number(String key, int otherwise, int least, int most) {
    String text = text(key, Integer.toString(otherwise));
    try {
      int number = Integer.parseInt(text);
      if (least <= number && number <= most) {
        return number;
      }
    } catch (NumberFormatException e) {
      // said below
    }
    throw new BadSetting(PREFIX + key + " must be a whole number from " + least + " to " + most);
  }
}
