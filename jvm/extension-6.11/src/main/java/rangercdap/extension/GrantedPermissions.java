package rangercdap.extension;

import io.cdap.cdap.proto.element.EntityType;
import io.cdap.cdap.proto.security.Authorizable;
import io.cdap.cdap.proto.security.GrantedPermission;
import io.cdap.cdap.proto.security.Permission;
import io.cdap.cdap.proto.security.PermissionType;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The service's list of grants in CDAP's words. */
final class GrantedPermissions {

  private static final Logger LOG = LoggerFactory.getLogger(GrantedPermissions.class);

  private GrantedPermissions() {}

  /** What CDAP has words for; the rest is named in the log. */
  static Set<GrantedPermission> of(List<Fields> grants) throws Refusal {
    Set<GrantedPermission> granted = new LinkedHashSet<>();
    try {
      for (Fields grant : grants) {
        Fields entity = grant.object("entity");
        add(granted, entity.text("type"), entity.texts("parts"), grant.texts("permissions"));
      }
      return granted;
    } catch (ServiceFailure e) {
      throw Refusal.unavailable(e);
    }
  }

  private static void add(Set<GrantedPermission> granted, String type, List<String> parts,
      List<String> permissions) {
    try {
      EntityType entityType = EntityType.valueOf(type);
      Authorizable authorizable = new Authorizable(entityType, parts(entityType, parts), null);
      for (String permission : permissions) {
        granted.add(new GrantedPermission(authorizable, permission(permission)));
      }
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      LOG.warn("this CDAP has no words for {} on {} {}", permissions, type, parts);
    }
  }

  private static Permission permission(String text) {
    String[] names = text.split("\\.", 2);
    return PermissionType.valueOf(names[0], names[1]);
  }

  /** The parts by level; those below the last level are joined as CDAP joins the type and name of a program. */
  private static Map<EntityType, String> parts(EntityType type, List<String> parts) {
    List<EntityType> levels;
    switch (type) {
      case INSTANCE:
      case NAMESPACE:
      case KERBEROSPRINCIPAL:
      case SYSTEM_SERVICE:
        levels = Arrays.asList(type);
        break;
      case PROGRAM:
        levels = Arrays.asList(EntityType.NAMESPACE, EntityType.APPLICATION, type);
        break;
      default:
        levels = Arrays.asList(EntityType.NAMESPACE, type);
    }
    Map<EntityType, String> byLevel = new LinkedHashMap<>();
    int last = levels.size() - 1;
    for (int i = 0; i < last; i++) {
      byLevel.put(levels.get(i), parts.get(i));
    }
    byLevel.put(type, String.join(".", parts.subList(last, parts.size())));
    return byLevel;
  }
}
