package rangercdap.extension;

import io.cdap.cdap.proto.security.Permission;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** What CDAP 6.5 and later asks for, in the words of the decision service. */
final class Permissions {

  private Permissions() {}

  /** The permissions as {@code TYPE.NAME}, always in the same order. */
  static List<String> names(Set<? extends Permission> permissions) {
    Set<String> names = new TreeSet<>();
    for (Permission permission : permissions) {
      names.add(permission.getPermissionType().name() + "." + permission.name());
    }
    return new ArrayList<>(names);
  }
}
