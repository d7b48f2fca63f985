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
  private volatile AuditRecords records;
  private volatile ClientAddress clientAddress;

  @Override
  public void initialize(AuthorizationContext context) {
    start(new Settings(context.getExtensionProperties()), System::nanoTime);
  }

  /** Start with these settings, and a clock that counts in nanoseconds. */
  void start(Settings settings, LongSupplier nanoTime) {
    extension = new Extension(settings, settings.audit() != null, nanoTime);
    records = new AuditRecords(settings, extension.service());
    clientAddress = new ClientAddress(SecurityRequestContext::getUserId, SecurityRequestContext::getUserIp);
  }

  @Override
  public AuthorizationResponse enforce(EntityId entity, Principal principal, Set<? extends Permission> permissions)
      throws AccessException {
    return enforce(extension.check(entity, null, principal, permissions));
  }

  @Override
  public AuthorizationResponse enforceOnParent(EntityType entityType, EntityId parentId, Principal principal,
      Permission permission) throws AccessException {
    return enforce(extension.check(parentId, entityType, principal, Collections.singleton(permission)));
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
    return changed("grant", caller, authorizable,
        extension.grants().grant(caller, authorizable, principal, permissions));
  }

  @Override
  public AuthorizationResponse revoke(Principal caller, Authorizable authorizable, Principal principal,
      Set<? extends Permission> permissions) throws AccessException {
    return changed("revoke", caller, authorizable,
        extension.grants().revoke(caller, authorizable, principal, permissions));
  }

  @Override
  public AuthorizationResponse revoke(Principal caller, Authorizable authorizable) throws AccessException {
    return changed("revoke", caller, authorizable, extension.grants().revoke(caller, authorizable, null, null));
  }

  /** Refused with an exception: of a response that refuses, CDAP would make an empty list. */
  @Override
  public AuthorizedResult<Set<GrantedPermission>> listGrants(Principal caller, Principal principal)
      throws AccessException {
    return new AuthorizedResult<>(GrantedPermissions.of(extension.grants().list(caller, principal)),
        Responses.of(Answer.allowed(), caller.getName(), "list", "grants"));
  }

  @Override
  public AuthorizationResponse createRole(Principal caller, Role role) throws AccessException {
    return noRoles(caller, "create role");
  }

  @Override
  public AuthorizationResponse dropRole(Principal caller, Role role) throws AccessException {
    return noRoles(caller, "drop role");
  }

  @Override
  public AuthorizationResponse addRoleToPrincipal(Principal caller, Role role, Principal principal)
      throws AccessException {
    return noRoles(caller, "add role");
  }

  @Override
  public AuthorizationResponse removeRoleFromPrincipal(Principal caller, Role role, Principal principal)
      throws AccessException {
    return noRoles(caller, "remove role");
  }

  @Override
  public AuthorizedResult<Set<Role>> listRoles(Principal caller, Principal principal) throws AccessException {
    return new AuthorizedResult<>(Collections.<Role>emptySet(), noRoles(caller, "list roles"));
  }

  @Override
  public AuthorizedResult<Set<Role>> listAllRoles(Principal caller) throws AccessException {
    return new AuthorizedResult<>(Collections.<Role>emptySet(), noRoles(caller, "list roles"));
  }

  private AuthorizationResponse enforce(Check check) throws Refusal {
    return Responses.of(check, extension.enforce(check, clientAddress.of(check.user())), records.wanted());
  }

  private static AuthorizationResponse changed(String operation, Principal caller, Authorizable authorizable,
      Answer answer) {
    return Responses.of(answer, caller == null ? null : caller.getName(), operation, authorizable.toString());
  }

  private static AuthorizationResponse noRoles(Principal caller, String operation) {
    return Responses.of(Answer.denied(Grants.ROLES), caller == null ? null : caller.getName(), operation,
        "CDAP's roles");
  }
}
