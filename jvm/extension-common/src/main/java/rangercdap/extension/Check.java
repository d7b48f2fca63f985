package rangercdap.extension;

import io.cdap.cdap.proto.element.EntityType;
import io.cdap.cdap.proto.id.EntityId;
import io.cdap.cdap.proto.security.Principal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** One permission check of CDAP: the question for the service, the words for a denial, and what a record says of it. */
final class Check {

  private final Stamp stamp;
  private final EntityId entity;
  private final EntityType childType;
  private final Principal principal;
  private final List<String> permissions;

  /** {@code childType} is null unless the check is about children of that type in the entity. */
  Check(Stamp stamp, EntityId entity, EntityType childType, Principal principal, List<String> permissions) {
    this.stamp = stamp;
    this.entity = entity;
    this.childType = childType;
    this.principal = principal;
    this.permissions = permissions;
  }

  /** The question without its stamp, which is also the key of its answer. */
  Map<String, Object> question(CallingFrames frames, String clientIp) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("principal", Wire.principal(principal));
    json.put("entity", Wire.entity(entity));
    if (childType != null) {
      json.put("child_type", childType.name());
    }
    json.put("permissions", permissions);
    if (!frames.hint().isEmpty()) {
      json.put("hint", frames.hint());
    }
    if (frames.fromContainer()) {
      json.put("from_container", true);
    }
    if (clientIp != null) {
      json.put("client_ip", clientIp);
    }
    return json;
  }

  /** The stamp of this check, which no other has. */
  Stamp stamp() {
    return stamp;
  }

  /** The check as docs/reference/events.md describes it. */
  Map<String, Object> record(boolean allowed) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("principal", principal.getName());
    if (principal.getKerberosPrincipal() != null) {
      json.put("kerberos", principal.getKerberosPrincipal());
    }
    json.putAll(Wire.entity(entity));
    if (childType != null) {
      json.put("child_type", childType.name());
    }
    json.put("permissions", permissions);
    json.put("allowed", allowed);
    json.putAll(stamp.fields());
    return json;
  }

  /** The name of the one who was checked. */
  String user() {
    return principal.getName();
  }

  /** The permissions CDAP asked for, as {@code TYPE.NAME}. */
  List<String> permissions() {
    return permissions;
  }

  /** The entity in a sentence of CDAP. */
  String label() {
    return childType == null ? entity.toString() : childType.name().toLowerCase(Locale.ROOT) + " in " + entity;
  }
}
