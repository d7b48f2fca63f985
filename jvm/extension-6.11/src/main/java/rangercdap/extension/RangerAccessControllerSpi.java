package rangercdap.extension;

import io.cdap.cdap.api.security.AccessException;
import io.cdap.cdap.proto.element.EntityType;
import io.cdap.cdap.proto.id.EntityId;
import io.cdap.cdap.proto.security.Authorizable;
import io.cdap.cdap.proto.security.GrantedPermission;
import io.cdap.cdap.proto.security.Permission;
import io.cdap.cdap.proto.security.Principal;
import io.cdap.cdap.proto.security.Role;
import io.cdap.cdap.security.spi.authentication.SecurityRequestContext;
import io.cdap.cdap.security.spi.authorization.AccessControllerSpi;
import io.cdap.cdap.security.spi.authorization.AuditLogRequest;
import io.cdap.cdap.security.spi.authorization.AuthorizationContext;
import io.cdap.cdap.security.spi.authorization.AuthorizationResponse;
import io.cdap.cdap.security.spi.authorization.AuthorizedResult;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;

/** Asks the decision service for CDAP 6.11, tells it how requests ended, and passes on who hands out privileges. */
public class RangerAccessControllerSpi implements AccessControllerSpi {

  private volatile Extension extension;
  private volatile Grants grants;
  private volatile Roles roles;
  private volatile AuditRecords records;
  private volatile ClientAddress clientAddress;

  @Override
  public void initialize(AuthorizationContext context) {
    start(new Settings(context.getExtensionProperties()), System::nanoTime);
  }

  /** Start with these settings, and a clock that counts in nanoseconds. */
  void start(Settings settings, LongSupplier nanoTime) {
    extension = new Extension(settings, settings.audit() != null, nanoTime);
    grants = new Grants(settings, extension.service());
    roles = new Roles(settings, extension.service());
    records = new AuditRecords(settings, extension.service());
    clientAddress = new ClientAddress(SecurityRequestContext::getUserId, SecurityRequestContext::getUserIp);
  }

  @Override
  public AuthorizationResponse enforce(EntityId entity, Principal principal, Set<? extends Permission> permissions)
      throws AccessException {
    return enforce(extension.check(entity, null, principal, Permissions.names(permissions)));
  }

  @Override
  public AuthorizationResponse enforceOnParent(EntityType entityType, EntityId parentId, Principal principal,
      Permission permission) throws AccessException {
    return enforce(extension.check(parentId, entityType, principal,
        Permissions.names(Collections.singleton(permission))));
  }

  /** An answer for each entity, also for those that stay hidden: program containers of CDAP rely on it. */
  @Override
  public Map<? extends EntityId, AuthorizationResponse> isVisible(Set<? extends EntityId> entityIds,
      Principal principal) throws AccessException {
    Map<EntityId, AuthorizationResponse> responses = new HashMap<>();
    extension.visible(entityIds, principal).forEach((entity, visible) ->
        responses.put(entity, Responses.visible(visible, principal.getName(), entity.toString())));
    return responses;
  }

  @Override
  public PublishStatus publishAuditLogs(AuditLogRequest auditLogRequest) {
    try {
      records.publish(auditLogRequest);
      return PublishStatus.PUBLISHED;
    } catch (ServiceFailure e) {
      PublishStatus unsuccessful = PublishStatus.UNSUCCESSFUL;
      unsuccessful.setEx(e);
      return unsuccessful;
    }
  }

  @Override
  public AuthorizationResponse grant(Principal caller, Authorizable authorizable, Principal principal,
      Set<? extends Permission> permissions) throws AccessException {
    return changed("grant", caller, authorizable, grants.grant(caller, authorizable, principal, permissions));
  }

  @Override
  public AuthorizationResponse revoke(Principal caller, Authorizable authorizable, Principal principal,
      Set<? extends Permission> permissions) throws AccessException {
    return changed("revoke", caller, authorizable, grants.revoke(caller, authorizable, principal, permissions));
  }

  @Override
  public AuthorizationResponse revoke(Principal caller, Authorizable authorizable) throws AccessException {
    return changed("revoke", caller, authorizable, grants.revoke(caller, authorizable, null, null));
  }

  /** Refused with an exception: of a response that refuses, CDAP would make an empty list. */
  @Override
  public AuthorizedResult<Set<GrantedPermission>> listGrants(Principal caller, Principal principal)
      throws AccessException {
    return new AuthorizedResult<>(GrantedPermissions.of(grants.list(caller, principal)),
        Responses.of(Answer.allowed(), name(caller), "list", "grants"));
  }

  @Override
  public AuthorizationResponse createRole(Principal caller, Role role) throws AccessException {
    return changed("create", caller, role, roles.create(caller, role));
  }

  @Override
  public AuthorizationResponse dropRole(Principal caller, Role role) throws AccessException {
    return changed("drop", caller, role, roles.drop(caller, role));
  }

  @Override
  public AuthorizationResponse addRoleToPrincipal(Principal caller, Role role, Principal principal)
      throws AccessException {
    return changed("add", caller, role, roles.add(caller, role, principal));
  }

  @Override
  public AuthorizationResponse removeRoleFromPrincipal(Principal caller, Role role, Principal principal)
      throws AccessException {
    return changed("remove", caller, role, roles.remove(caller, role, principal));
  }

  /** Refused with an exception: of a response that refuses, CDAP would make an empty list. */
  @Override
  public AuthorizedResult<Set<Role>> listRoles(Principal caller, Principal principal) throws AccessException {
    return listed(caller, roles.list(caller, principal));
  }

  @Override
  public AuthorizedResult<Set<Role>> listAllRoles(Principal caller) throws AccessException {
    return listed(caller, roles.list(caller, null));
  }

  private AuthorizationResponse enforce(Check check) throws Refusal {
    return Responses.of(check, extension.enforce(check, clientAddress.of(check.user())), records.wanted());
  }

  private static AuthorizationResponse changed(String operation, Principal caller, Authorizable authorizable,
      Answer answer) {
    return Responses.of(answer, name(caller), operation, authorizable.toString());
  }

  private static AuthorizationResponse changed(String operation, Principal caller, Role role, Answer answer) {
    return Responses.of(answer, name(caller), operation, "role " + role.getName());
  }

  private static AuthorizedResult<Set<Role>> listed(Principal caller, Set<Role> roles) {
    return new AuthorizedResult<>(roles, Responses.of(Answer.allowed(), name(caller), "list", "roles"));
  }

  private static String name(Principal caller) {
    return caller == null ? null : caller.getName();
  }
}
