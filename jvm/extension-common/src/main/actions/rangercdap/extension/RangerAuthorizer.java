package rangercdap.extension;

import io.cdap.cdap.proto.id.EntityId;
import io.cdap.cdap.proto.security.Action;
import io.cdap.cdap.proto.security.Authorizable;
import io.cdap.cdap.proto.security.Principal;
import io.cdap.cdap.proto.security.Privilege;
import io.cdap.cdap.proto.security.Role;
import io.cdap.cdap.security.spi.authorization.AuthorizationContext;
import io.cdap.cdap.security.spi.authorization.Authorizer;
import io.cdap.cdap.security.spi.authorization.UnauthorizedException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.LongSupplier;

/** Asks the decision service for CDAP before 6.5, which names actions and does not say who hands out privileges. */
public class RangerAuthorizer implements Authorizer {

  private static final String NO_GRANTS = "edit policies in Ranger: this version of CDAP does not say who asks";
  private static final String NO_ROLES = "roles are kept in Ranger";

  private volatile Extension extension;

  @Override
  public void initialize(AuthorizationContext context) {
    start(new Settings(context.getExtensionProperties()), System::nanoTime);
  }

  /** Start with these settings, and a clock that counts in nanoseconds. */
  void start(Settings settings, LongSupplier nanoTime) {
    extension = new Extension(settings, false, nanoTime);
  }

  /** Nothing is kept that a process would not give back by itself. */
  @Override
  public void destroy() {}

  @Override
  public void enforce(EntityId entity, Principal principal, Action action) throws Refusal {
    enforce(entity, principal, Collections.singleton(action));
  }

  @Override
  public void enforce(EntityId entity, Principal principal, Set<Action> actions) throws Refusal {
    Check check = extension.check(entity, null, principal, names(actions));
    Answer answer = extension.enforce(check, null);
    if (!answer.isAllowed()) {
      throw new UnauthorizedException(String.format("Principal '%s' is not authorized to perform actions '%s' on "
          + "entity '%s': %s", check.user(), actions, check.label(), answer.reason()));
    }
  }

  @Override
  public Set<? extends EntityId> isVisible(Set<? extends EntityId> entityIds, Principal principal) throws Refusal {
    Set<EntityId> visible = new LinkedHashSet<>();
    for (Map.Entry<EntityId, Boolean> entity : extension.visible(entityIds, principal).entrySet()) {
      if (entity.getValue()) {
        visible.add(entity.getKey());
      }
    }
    return visible;
  }

  @Override
  public void grant(Authorizable authorizable, Principal principal, Set<Action> actions) throws Refusal {
    throw Refusal.forbidden(NO_GRANTS);
  }

  @Override
  public void revoke(Authorizable authorizable, Principal principal, Set<Action> actions) throws Refusal {
    throw Refusal.forbidden(NO_GRANTS);
  }

  @Override
  public void revoke(Authorizable authorizable) throws Refusal {
    throw Refusal.forbidden(NO_GRANTS);
  }

  @Override
  public Set<Privilege> listPrivileges(Principal principal) throws Refusal {
    throw Refusal.forbidden(NO_GRANTS);
  }

  @Override
  public void createRole(Role role) throws Refusal {
    throw Refusal.forbidden(NO_ROLES);
  }

  @Override
  public void dropRole(Role role) throws Refusal {
    throw Refusal.forbidden(NO_ROLES);
  }

  @Override
  public void addRoleToPrincipal(Role role, Principal principal) throws Refusal {
    throw Refusal.forbidden(NO_ROLES);
  }

  @Override
  public void removeRoleFromPrincipal(Role role, Principal principal) throws Refusal {
    throw Refusal.forbidden(NO_ROLES);
  }

  @Override
  public Set<Role> listRoles(Principal principal) throws Refusal {
    throw Refusal.forbidden(NO_ROLES);
  }

  @Override
  public Set<Role> listAllRoles() throws Refusal {
    throw Refusal.forbidden(NO_ROLES);
  }

  /** The actions as {@code ACTION.NAME}, always in the same order. */
  private static List<String> names(Set<Action> actions) {
    Set<String> names = new TreeSet<>();
    for (Action action : actions) {
      names.add("ACTION." + action.name());
    }
    return new ArrayList<>(names);
  }
}
