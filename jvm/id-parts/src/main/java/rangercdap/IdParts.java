package rangercdap;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/**
 * The idParts of each entity type of one CDAP, named by its getters, as lines {@code TYPE namespace dataset}.
 *
 * An id is made of parts by its own {@code fromIdParts}, and counts if its {@code toIdParts} are the same again.
 */
public final class IdParts {
  private static final int MOST = 7;

  private IdParts() {
  }

  public static void main(String[] arguments) throws ReflectiveOperationException {
    Class<?> types = Class.forName(arguments[0] + ".proto.element.EntityType");
    for (Object type : types.getEnumConstants()) {
      Class<?> id = (Class<?>) types.getMethod("getIdClass").invoke(type);
      for (int length = 1; length <= MOST; length++) {
        Object made = made(id, new ArrayList<>(), length);
        if (made != null) {
          System.out.println(type + " " + String.join(" ", names(made)));
        }
      }
    }
  }

  /** An id of so many parts, each a plain name, a version or a type of programs; null if there is none. */
  private static Object made(Class<?> id, List<String> begun, int length) throws ReflectiveOperationException {
    if (begun.size() == length) {
      try {
        Object made = id.getMethod("fromIdParts", Iterable.class).invoke(null, begun);
        return String.join(" ", parts(made)).equalsIgnoreCase(String.join(" ", begun)) ? made : null;
      } catch (InvocationTargetException e) {
        return null;
      }
    }
    for (String part : Arrays.asList("a" + begun.size(), "1.0." + begun.size(), "Workflow")) {
      List<String> more = new ArrayList<>(begun);
      more.add(part);
      Object made = made(id, more, length);
      if (made != null) {
        return made;
      }
    }
    return null;
  }

  private static List<String> parts(Object id) throws ReflectiveOperationException {
    List<String> parts = new ArrayList<>();
    for (Object part : (Iterable<?>) id.getClass().getMethod("toIdParts").invoke(id)) {
      parts.add((String) part);
    }
    return parts;
  }

  private static List<String> names(Object id) throws ReflectiveOperationException {
    List<Method> methods = Arrays.asList(id.getClass().getMethods());
    Collections.sort(methods, Comparator.comparing(Method::getName));
    List<String> names = new ArrayList<>();
    for (String part : parts(id)) {
      String found = "?";
      for (Method method : methods) {
        boolean getter = method.getName().startsWith("get") && method.getParameterCount() == 0;
        boolean named = getter && !"getEntityName".equals(method.getName());
        if (named && String.valueOf(method.invoke(id)).equalsIgnoreCase(part)) {
          found = method.getName().substring("get".length()).toLowerCase();
          break;
        }
      }
      names.add(found);
    }
    return names;
  }
}
