package rangercdap.extension;

import java.net.MalformedURLException;
import java.net.URL;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Which addresses get a secret and are believed: https, and plain http on this machine or where it is permitted.
 *
 * <p>This machine is 127.0.0.0/8 and ::1 in their usual spelling; what a name means, a file or a name server decides.
 * {@code ranger_cdap/config/address.py} has the same rule for everything else.
 */
final class Address {

  private static final Pattern ADDRESS = Pattern.compile(
      "(https?)://([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])(?::([0-9]{1,5}))?(?:/[A-Za-z0-9._~%+/-]*+)?");
  private static final Pattern THIS_MACHINE = Pattern.compile(
      "\\[::1\\]|127(?:\\.(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])){3}");
  private static final int LAST_PORT = 65_535;

  private Address() {}

  /** The address with a slash at its end; a complaint uses the names {@code setting} and {@code permission}. */
  static URL checked(String text, String setting, String permission, boolean allowPlainHttp) {
    Matcher found = ADDRESS.matcher(text);
    if (!found.matches() || !isPort(found.group(3))) {
      throw new BadSetting(setting + " is no address like http://127.0.0.1:6500 (without name and password)");
    }
    if (found.group(1).equals("http") && !allowPlainHttp && !THIS_MACHINE.matcher(found.group(2)).matches()) {
      throw new BadSetting(setting + " is " + text + ", which others can read and change in transit: use https://, "
          + "127.0.0.1 for this machine, or set " + permission + " to true if nobody else can reach the way");
    }
    try {
      return new URL(text.endsWith("/") ? text : text + "/");
    } catch (MalformedURLException e) {
      throw new BadSetting(setting + " is no address like http://127.0.0.1:6500 (without name and password)");
    }
  }

  /** Whether what is sent to the address leaves this machine unencrypted. */
  static boolean isExposed(URL address) {
    return address.getProtocol().equals("http") && !THIS_MACHINE.matcher(address.getHost()).matches();
  }

  private static boolean isPort(String port) {
    return port == null || Integer.parseInt(port) > 0 && Integer.parseInt(port) <= LAST_PORT;
  }
}
