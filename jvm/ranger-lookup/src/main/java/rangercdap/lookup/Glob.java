package rangercdap.lookup;

/** A text with Ranger's wildcards {@code *} and {@code ?}, matched in time proportional to both lengths. */
final class Glob {

  private final String pattern;
  private final boolean ignoresCase;

  private Glob(String pattern, boolean ignoresCase) {
    this.pattern = pattern;
    this.ignoresCase = ignoresCase;
  }

  /** Of a value in a policy: the whole name, upper and lower case distinct. */
  static Glob ofValue(String value) {
    return new Glob(value, false);
  }

  /** Of what somebody has typed so far: the beginning of a name, in any case. */
  static Glob ofInput(String input) {
    return new Glob(input.trim() + "*", true);
  }

  /** Whether the value has a wildcard. */
  static boolean isPattern(String value) {
    return value.indexOf('*') >= 0 || value.indexOf('?') >= 0;
  }

  /** What every match holds: the input up to its first wildcard. */
  static String literal(String input) {
    return input.trim().split("[*?]", 2)[0];
  }

  /** Whether it matches the name. */
  boolean matches(String name) {
    int at = 0;
    int in = 0;
    int star = -1;
    int resume = 0;
    while (in < name.length()) {
      if (at < pattern.length() && pattern.charAt(at) == '*') {
        star = at++;
        resume = in;
      } else if (at < pattern.length() && fits(pattern.charAt(at), name.charAt(in))) {
        at++;
        in++;
      } else if (star >= 0) {
        at = star + 1;
        in = ++resume;
      } else {
        return false;
      }
    }
    while (at < pattern.length() && pattern.charAt(at) == '*') {
      at++;
    }
    return at == pattern.length();
  }

  private boolean fits(char wanted, char found) {
    return wanted == '?' || wanted == found
        || ignoresCase && Character.toLowerCase(wanted) == Character.toLowerCase(found);
  }
}
