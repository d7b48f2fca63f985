package rangercdap.extension;

import io.cdap.cdap.api.security.AccessException;
import io.cdap.cdap.proto.element.EntityType;
import io.cdap.cdap.proto.id.EntityId;
import io.cdap.cdap.proto.security.Authorizable;
import io.cdap.cdap.proto.security.GrantedPermission;
import io.cdap.cdap.proto.security.Permission;
import io.cdap.cdap.proto.security.Principal;
import io.cdap.cdap.proto.security.Role;
import io.cdap.cdap.security.spi.authorization.AccessController;
import io.cdap.cdap.security.spi.authorization.AuthorizationContext;
import io.cdap.cdap.security.spi.authorization.UnauthorizedException;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;

/** Asks the decision service for CDAP 6.5 and later, which does not say who wants to hand out privileges. */
public class RangerAccessController implements AccessController {

  private volatile Extension extension;
  private volatile Grants grants;

  @Override
  public void initialize(AuthorizationContext context) {
    start(new Settings(context.getExtensionProperties()), System::nanoTime);
  }

  /** Start with these settings, and a clock that counts in nanoseconds. */
  void start(Settings settings, LongSupplier nanoTime) {
    extension = new Extension(settings, false, nanoTime);
    grants = new Grants(settings, extension.service());
  }

  @Override
  public void enforce(EntityId entity, Principal principal, Set<? extends Permission> permissions)
      throws AccessException {
    enforce(extension.check(entity, null, principal, Permissions.names(permissions)));
  }

  @Override
  public void enforceOnParent(EntityType entityType, EntityId parentId, Principal principal, Permission permission)
      throws AccessException {
    enforce(extension.check(parentId, entityType, principal, Permissions.names(Collections.singleton(permission))));
  }

  @Override
  public Set<? extends EntityId> isVisible(Set<? extends EntityId> entityIds, Principal principal)
      throws AccessException {
    Set<EntityId> visible = new LinkedHashSet<>();
    for (Map.Entry<EntityId, Boolean> entity : extension.visible(entityIds, principal).entrySet()) {
      if (entity.getValue()) {
        visible.add(entity.getKey());
      }
    }
    return visible;
  }

  @Override
  public void grant(Authorizable authorizable, Principal principal, Set<? extends Permission> permissions)
      throws AccessException {
    done(grants.grant(null, authorizable, principal, permissions));
  }

  @Override
  public void revoke(Authorizable authorizable, Principal principal, Set<? extends Permission> permissions)
      throws AccessException {
    done(grants.revoke(null, authorizable, principal, permissions));
  }

  @Override
  public void revoke(Authorizable authorizable) throws AccessException {
    done(grants.revoke(null, authorizable, null, null));
  }

  @Override
  public Set<GrantedPermission> listGrants(Principal principal) throws AccessException {
    throw Refusal.forbidden("see the policies in Ranger: this version of CDAP does not say who asks");
  }

  @Override
  public void createRole(Role role) throws AccessException {
    throw Refusal.forbidden(Roles.OFF);
  }

  @Override
  public void dropRole(Role role) throws AccessException {
    throw Refusal.forbidden(Roles.OFF);
  }

  @Override
  public void addRoleToPrincipal(Role role, Principal principal) throws AccessException {
    throw Refusal.forbidden(Roles.OFF);
  }

  @Override
  public void removeRoleFromPrincipal(Role role, Principal principal) throws AccessException {
    throw Refusal.forbidden(Roles.OFF);
  }

  @Override
  public Set<Role> listRoles(Principal principal) throws AccessException {
    throw Refusal.forbidden(Roles.OFF);
  }

  @Override
  public Set<Role> listAllRoles() throws AccessException {
    throw Refusal.forbidden(Roles.OFF);
  }

  private void enforce(Check check) throws AccessException {
    Answer answer = extension.enforce(check, null);
    if (answer.isAllowed()) {
      return;
    }
    // CDAP 6.11 builds the text anew from these fields, drops "all of them are needed" and glues the addendum on.
    List<String> permissions = check.permissions();
    Set<String> missing = permissions.isEmpty() ? Collections.<String>emptySet()
        : Collections.singleton(String.join(", ", permissions));
    throw new UnauthorizedException(check.user(), missing, check.label(), null, true, true, " " + answer.reason());
  }

  private static void done(Answer answer) throws Refusal {
    if (!answer.isAllowed()) {
      throw Refusal.forbidden(answer.reason());
    }
  }
}
