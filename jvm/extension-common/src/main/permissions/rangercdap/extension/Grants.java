package rangercdap.extension;

import io.cdap.cdap.proto.security.Authorizable;
import io.cdap.cdap.proto.security.Permission;
import io.cdap.cdap.proto.security.Principal;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Passes grants on to the service, which decides them; refuses them where no secret for grants is configured. */
final class Grants {

  private static final Logger LOG = LoggerFactory.getLogger(Grants.class);
  private static final String OFF = "edit policies in Ranger: CDAP hands out no privileges here";
  private static final String CHILDREN = "edit policies in Ranger: CDAP hands out no privileges on all that is in an "
      + "entity";

  private final DecisionService service;
  private final Credentials credentials;
  private final String masterUser;

  Grants(Settings settings, DecisionService service) {
    this.service = service;
    this.credentials = settings.grant();
    this.masterUser = settings.masterUser();
  }

  /** Grant permissions; {@code caller} is null where CDAP does not pass one. */
  Answer grant(Principal caller, Authorizable authorizable, Principal principal,
      Set<? extends Permission> permissions) {
    boolean own = isMastersOwn(caller, principal);
    if (credentials == null) {
      return own ? unchanged(authorizable) : Answer.denied(OFF);
    }
    try {
      return decided("cdap/v1/grant", caller, authorizable, principal, permissions);
    } catch (ServiceFailure e) {
      return own ? unchanged(authorizable) : Answer.denied(e.sentence());
    }
  }

  /** Take permissions away; {@code principal} and {@code permissions} are null where CDAP means all of them. */
  Answer revoke(Principal caller, Authorizable authorizable, Principal principal,
      Set<? extends Permission> permissions) {
    if (credentials == null) {
      return Answer.denied(OFF);
    }
    try {
      return decided("cdap/v1/revoke", caller, authorizable, principal, permissions);
    } catch (ServiceFailure e) {
      return Answer.denied(e.sentence());
    }
  }

  /** What the principal was given. */
  List<Fields> list(Principal caller, Principal principal) throws Refusal {
    if (credentials == null) {
      throw Refusal.forbidden(OFF);
    }
    Map<String, Object> question = asked(caller);
    question.put("principal", Wire.principal(principal));
    try {
      Fields answer = service.ask("cdap/v1/grants", credentials, question);
      if (!answer.truth("done")) {
        throw Refusal.forbidden(answer.text("reason"));
      }
      return answer.objects("grants");
    } catch (ServiceFailure e) {
      throw Refusal.unavailable(e);
    }
  }

  private Answer decided(String path, Principal caller, Authorizable authorizable, Principal principal,
      Set<? extends Permission> permissions) throws ServiceFailure {
    if (authorizable.getChildType() != null) {
      return Answer.denied(CHILDREN);
    }
    Map<String, Object> question = asked(caller);
    question.put("entity", Wire.entity(authorizable));
    if (principal != null) {
      question.put("principal", Wire.principal(principal));
    }
    if (permissions != null) {
      question.put("permissions", Permissions.names(permissions));
    }
    Fields answer = service.ask(path, credentials, question);
    try {
      answer.truth("changed");
      return answer.truth("done") ? Answer.allowed() : Answer.denied(answer.text("reason"));
    } catch (ServiceFailure e) {
      throw service.noted(e);
    }
  }

  private static Map<String, Object> asked(Principal caller) {
    Map<String, Object> question = new LinkedHashMap<>();
    if (caller != null) {
      question.put("caller", Wire.principal(caller));
    }
    return question;
  }

  /** CDAP's master gives itself privileges when it starts, and does not start if that fails. */
  private boolean isMastersOwn(Principal caller, Principal principal) {
    return !masterUser.isEmpty() && principal.getType() == Principal.PrincipalType.USER
        && masterUser.equals(principal.getName()) && (caller == null || masterUser.equals(caller.getName()));
  }

  /** Done, because there is nothing to do: what the master user may is decided in Ranger, not by this grant. */
  private Answer unchanged(Authorizable authorizable) {
    LOG.info("{} grants itself privileges on {}, which changes nothing", masterUser, authorizable);
    return Answer.allowed();
  }
}
