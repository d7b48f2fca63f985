package rangercdap.lookup;

import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.ranger.plugin.util.PasswordUtils;

/**
 * The configuration of the service in Ranger, checked. Equal ones have equal credentials, so what one was shown may be
 * shown to the other.
 */
final class LookupConfig {

  static final String URL = "cdap.instance.url";
  static final String USER = "cdap.username";
  // The only name whose value Ranger encrypts and hides. `username` is another matter: Ranger gives that user access.
  static final String PASSWORD = "password";
  static final String SIGN_IN_URL = "cdap.signin.url";
  static final String CA_FILE = "cdap.ca.file";
  static final String PLAIN_HTTP = "cdap.allow.plain.http";
  static final String INSTANCE = "cdap.instance.name";
  static final String LOOKUP_TIMEOUT = "cdap.lookup.timeout.ms";
  static final String TEST_TIMEOUT = "cdap.test.timeout.ms";

  private static final Pattern ADDRESS = Pattern.compile(
      "(https?)://([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])(?::([0-9]{1,5}))?(/[A-Za-z0-9._~%+/-]*+)?");
  private static final Pattern THIS_MACHINE = Pattern.compile(
      "\\[::1\\]|127(?:\\.(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])){3}");
  private static final int LAST_PORT = 65_535;

  private final Map<String, String> configs;

  /** {@code configs} as Ranger has them: the password is encrypted unless the service is not saved yet. */
  LookupConfig(Map<String, String> configs) {
    this.configs = configs;
  }

  /** Whether it says where CDAP is. */
  boolean hasUrl() {
    return !text(URL, "").isEmpty();
  }

  /** The address of CDAP, without a slash at its end. */
  URL url() throws LookupFailure {
    if (!hasUrl()) {
      throw LookupFailure.of(URL, "is not set; set it to the address of CDAP, such as https://cdap.example.com:11015");
    }
    return address(URL, text(URL, "").replaceAll("/+$", ""));
  }

  /** The address where tokens are issued, null if CDAP says it. */
  URL signInUrl() throws LookupFailure {
    String text = text(SIGN_IN_URL, "");
    return text.isEmpty() ? null : address(SIGN_IN_URL, text);
  }

  /** The address, if a secret may be sent there. */
  URL address(String field, String text) throws LookupFailure {
    Matcher found = ADDRESS.matcher(text);
    if (!found.matches() || !isPort(found.group(3))) {
      throw LookupFailure.of(field, "is not an address like https://cdap.example.com:11015 (without user and "
          + "password)");
    }
    boolean exposed = found.group(1).equals("http") && !THIS_MACHINE.matcher(found.group(2)).matches();
    if (exposed && !text(PASSWORD, "").isEmpty() && !isTrue(PLAIN_HTTP)) {
      throw LookupFailure.of(field, "is plain http, so others on the way could read the password; use https, or set "
          + PLAIN_HTTP + " where the network is trusted");
    }
    try {
      return new URL(text);
    } catch (MalformedURLException e) {
      throw LookupFailure.of(field, "is not an address that Java can use");
    }
  }

  /** The account at CDAP; without one, the password is a bearer token. */
  String user() throws LookupFailure {
    String user = text(USER, "");
    if (user.indexOf(':') >= 0 || user.chars().anyMatch(Character::isISOControl)) {
      throw LookupFailure.of(USER, "must not contain a colon or a control character");
    }
    if (!user.isEmpty() && text(PASSWORD, "").isEmpty()) {
      throw LookupFailure.of(PASSWORD, "is not set, but " + USER + " is");
    }
    return user;
  }

  /** The password in clear text, or a bearer token; empty for a CDAP without security. Decrypting takes its time. */
  String password() throws LookupFailure {
    String password = clear(text(PASSWORD, ""));
    if (password.chars().anyMatch(Character::isISOControl)) {
      throw LookupFailure.of(PASSWORD, "must not contain a control character");
    }
    return password;
  }

  /** The file with the certificates of authorities, empty for those of Java. */
  String caFile() {
    return text(CA_FILE, "");
  }

  /** The name of the CDAP instance in policies. */
  String instance() throws LookupFailure {
    String instance = text(INSTANCE, "cdap");
    if (!Level.get(Level.INSTANCE).accepts(instance)) {
      throw LookupFailure.of(INSTANCE, "must consist of letters, digits, _ and -");
    }
    return instance;
  }

  /** How long a look-up may take, in milliseconds: less than the second that Ranger waits. */
  int lookupTimeout() throws LookupFailure {
    return number(LOOKUP_TIMEOUT, 800, 50, 900);
  }

  /** How long Test Connection may take, in milliseconds: less than the ten seconds that Ranger waits. */
  int testTimeout() throws LookupFailure {
    return number(TEST_TIMEOUT, 8_000, 100, 9_000);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof LookupConfig && identity().equals(((LookupConfig) other).identity());
  }

  @Override
  public int hashCode() {
    return identity().hashCode();
  }

  private List<String> identity() {
    return Arrays.asList(text(URL, ""), text(USER, ""), text(PASSWORD, ""), text(SIGN_IN_URL, ""), caFile(),
        text(PLAIN_HTTP, ""));
  }

  private int number(String field, int normal, int least, int most) throws LookupFailure {
    String text = text(field, Integer.toString(normal));
    try {
      int number = Integer.parseInt(text);
      if (least <= number && number <= most) {
        return number;
      }
    } catch (NumberFormatException e) {
      // said below
    }
    throw LookupFailure.of(field, "must be a whole number from " + least + " to " + most);
  }

  private boolean isTrue(String field) throws LookupFailure {
    String text = text(field, "false");
    if (!text.equals("true") && !text.equals("false")) {
      throw LookupFailure.of(field, "must be true or false");
    }
    return text.equals("true");
  }

  private String text(String field, String normal) {
    String text = configs == null || configs.get(field) == null ? "" : configs.get(field).trim();
    return text.isEmpty() ? normal : text;
  }

  private static boolean isPort(String port) {
    return port == null || Integer.parseInt(port) > 0 && Integer.parseInt(port) <= LAST_PORT;
  }

  private static String clear(String password) {
    if (password.isEmpty()) {
      return password;
    }
    try {
      String decrypted = PasswordUtils.decryptPassword(password);
      return decrypted == null ? password : decrypted;
    } catch (IOException | RuntimeException e) {
      return password; // of a service that is not saved yet
    }
  }
}
