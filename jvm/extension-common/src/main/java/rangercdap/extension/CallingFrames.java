package rangercdap.extension;

import java.util.ArrayList;
import java.util.List;

/** The methods of CDAP that ask, nearest first, as {@code Class.method}. */
final class CallingFrames {

  private static final int MOST = 20;
  private static final int LONGEST = 2_000;
  private static final String CDAP = "io.cdap.cdap.";
  // These pass every question on and tell nothing about it: the implementations, and the interfaces they inherit from.
  private static final String ENFORCERS = "io.cdap.cdap.security.authorization.";
  private static final String INTERFACES = "io.cdap.cdap.security.spi.authorization.";
  private static final String CONTAINER = "RemotePrivilegesHandler";

  private final String hint;
  private final boolean fromContainer;

  CallingFrames(StackTraceElement[] frames) {
    List<String> methods = new ArrayList<>();
    int room = LONGEST;
    boolean container = false;
    for (StackTraceElement frame : frames) {
      String type = frame.getClassName();
      if (!type.startsWith(CDAP) || type.startsWith(ENFORCERS) || type.startsWith(INTERFACES)) {
        continue;
      }
      String simple = simple(type);
      container |= simple.equals(CONTAINER);
      String method = simple + "." + frame.getMethodName();
      boolean again = !methods.isEmpty() && methods.get(methods.size() - 1).equals(method);
      if (again || methods.size() == MOST) {
        continue;
      }
      room -= method.length() + (methods.isEmpty() ? 0 : 1);
      if (room >= 0) {
        methods.add(method);
      }
    }
    hint = String.join(" ", methods);
    fromContainer = container;
  }

  /** Those of the current thread. */
  static CallingFrames here() {
    return new CallingFrames(new Throwable().getStackTrace());
  }

  /** The hint, empty where CDAP's code is not on the stack. */
  String hint() {
    return hint;
  }

  /** Whether a running program's container asks. */
  boolean fromContainer() {
    return fromContainer;
  }

  /** The class as it was written: without its package and without what a code generator has added. */
  private static String simple(String type) {
    String name = type.substring(type.lastIndexOf('.') + 1);
    int generated = name.indexOf("$$");
    return generated > 0 ? name.substring(0, generated) : name;
  }
}
