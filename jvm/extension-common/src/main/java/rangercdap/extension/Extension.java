package rangercdap.extension;

import io.cdap.cdap.proto.element.EntityType;
import io.cdap.cdap.proto.id.EntityId;
import io.cdap.cdap.proto.security.Principal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;

/** What all jars do, whichever interface of CDAP they implement. */
final class Extension {

  private final Decisions decisions;
  private final Stamps stamps = new Stamps();

  /** {@code records} is whether this jar tells the service how requests ended. */
  Extension(Settings settings, boolean records, LongSupplier nanoTime) {
    this.decisions = new Decisions(settings, records, nanoTime);
    decisions.service().introduce();
  }

  /** A check, stamped now; {@code childType} is null unless it is about children of that type in the entity. */
  Check check(EntityId entity, EntityType childType, Principal principal, List<String> permissions) {
    return new Check(stamps.next(), entity, childType, principal, permissions);
  }

  /** Whether CDAP may go on; what nobody can tell is denied. */
  Answer enforce(Check check, String clientIp) throws Refusal {
    if (unnamed(check.user())) {
      return Answer.denied("CDAP does not say who asks");
    }
    CallingFrames frames = CallingFrames.here();
    try {
      return decisions.enforce(check.question(frames, clientIp), check.stamp());
    } catch (ServiceFailure e) {
      if (frames.fromContainer()) {
        // The container of a program keeps a denial for minutes, but not that nobody can tell.
        throw Refusal.unavailable(e);
      }
      return Answer.denied(e.sentence());
    }
  }

  /** For every entity whether the principal may see it; a refusal with a text if nobody can tell. */
  Map<EntityId, Boolean> visible(Set<? extends EntityId> entities, Principal principal) throws Refusal {
    List<EntityId> order = new ArrayList<>(entities);
    List<Map<String, Object>> asking = new ArrayList<>();
    for (EntityId entity : order) {
      asking.add(Wire.entity(entity));
    }
    Map<EntityId, Boolean> visible = new LinkedHashMap<>();
    try {
      List<Boolean> seen = unnamed(principal.getName()) ? Collections.nCopies(order.size(), false)
          : decisions.visible(Wire.principal(principal), asking);
      for (int i = 0; i < order.size(); i++) {
        visible.put(order.get(i), seen.get(i));
      }
      return visible;
    } catch (ServiceFailure e) {
      throw Refusal.unavailable(e);
    }
  }

  /** The service that is asked. */
  DecisionService service() {
    return decisions.service();
  }

  private static boolean unnamed(String user) {
    return user == null || user.isEmpty();
  }
}
