package rangercdap.extension;

import io.cdap.cdap.proto.element.EntityType;
import io.cdap.cdap.proto.id.EntityId;
import io.cdap.cdap.proto.security.Authorizable;
import io.cdap.cdap.proto.security.Principal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** CDAP's objects in the words of the decision service; an entity is its parts, never one text. */
final class Wire {

  private Wire() {}

  /** The principal as sent; the credential stays here. */
  static Map<String, Object> principal(Principal principal) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("name", principal.getName());
    json.put("type", principal.getType().name());
    if (principal.getKerberosPrincipal() != null) {
      json.put("kerberos", principal.getKerberosPrincipal());
    }
    return json;
  }

  /** The entity's type and CDAP's idParts. */
  static Map<String, Object> entity(EntityId entity) {
    List<String> parts = new ArrayList<>();
    for (String part : entity.toIdParts()) {
      parts.add(part);
    }
    return entity(entity.getEntityType(), parts);
  }

  /** What a grant is for: as CDAP's idParts, but without versions, which grants do not know. */
  static Map<String, Object> entity(Authorizable authorizable) {
    List<String> parts = new ArrayList<>();
    for (Map.Entry<EntityType, String> part : authorizable.getEntityParts().entrySet()) {
      parts.addAll(Arrays.asList(part.getValue().split("\\.", joined(part.getKey()))));
    }
    return entity(authorizable.getEntityType(), parts);
  }

  /** How many idParts CDAP joins into one part of a grant; all but the last of them hold no dot. */
  private static int joined(EntityType type) {
    switch (type.name()) {
      case "PROGRAM":
        return 2;
      case "SYSTEM_APP_ENTITY":
        return 3;
      default:
        return 1;
    }
  }

  private static Map<String, Object> entity(EntityType type, List<String> parts) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("type", type.name());
    json.put("parts", parts);
    return json;
  }
}
