package rangercdap.extension;

import io.cdap.cdap.security.spi.authorization.AuditLogContext;
import io.cdap.cdap.security.spi.authorization.AuthorizationResponse;
import io.cdap.cdap.security.spi.authorization.AuthorizationResponse.AuthorizationStatus;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.Set;

/** Answers in CDAP's words; CDAP glues the addendum on without a blank. */
final class Responses {

  private Responses() {}

  /** The answer to a check; {@code audited} is whether CDAP shall tell us how its request ended. */
  static AuthorizationResponse of(Check check, Answer answer, boolean audited) {
    AuditLogContext context = new AuditLogContext.Builder().setAuditLoggingRequired(audited)
        .setAuditLogBody(audited ? Json.write(check.record(answer.isAllowed())) : null).build();
    return answer.isAllowed() ? allowed(context)
        : denied(context, check.user(), new LinkedHashSet<>(check.permissions()), check.label(), answer.reason());
  }

  /** Whether somebody may see something, of which no record is made. */
  static AuthorizationResponse visible(boolean visible, String user, String entity) {
    AuditLogContext context = AuditLogContext.Builder.defaultNotRequired();
    return visible ? allowed(context) : denied(context, user, Collections.<String>emptySet(), entity, "");
  }

  /** The answer to a change of privileges or roles. */
  static AuthorizationResponse of(Answer answer, String caller, String operation, String object) {
    AuditLogContext context = AuditLogContext.Builder.defaultNotRequired();
    return answer.isAllowed() ? allowed(context)
        : denied(context, caller, Collections.singleton(operation), object, answer.reason());
  }

  private static AuthorizationResponse allowed(AuditLogContext context) {
    return new AuthorizationResponse.Builder().setAuthorized(AuthorizationStatus.AUTHORIZED)
        .setAuditLogContext(context).build();
  }

  private static AuthorizationResponse denied(AuditLogContext context, String user, Set<String> missing,
      String object, String reason) {
    return new AuthorizationResponse.Builder().setAuthorized(AuthorizationStatus.UNAUTHORIZED)
        .setAuditLogContext(context).setPrincipal(user).setIncludePrincipal(true).setEntity(object)
        .setMissingPermissions(missing).setRequiresAllPermissions(true)
        .setAddendum(reason.isEmpty() ? null : " " + reason).build();
  }
}
