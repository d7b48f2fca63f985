package rangercdap.extension;

import io.cdap.cdap.api.security.AccessException;
import io.cdap.cdap.proto.security.Principal;
import io.cdap.cdap.proto.security.Role;
import io.cdap.cdap.security.spi.authorization.AlreadyExistsException;
import io.cdap.cdap.security.spi.authorization.NotFoundException;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/** Passes changes of roles on to the service, which decides them; refuses them where no secret for grants is set. */
final class Roles {

  /** The answer where nothing is passed on. */
  static final String OFF = "roles are kept in Ranger";

  private final DecisionService service;
  private final Credentials credentials;

  Roles(Settings settings, DecisionService service) {
    this.service = service;
    this.credentials = settings.grant();
  }

  /** Create a role. */
  Answer create(Principal caller, Role role) throws AccessException {
    return changed("create", caller, role, null);
  }

  /** Drop a role. */
  Answer drop(Principal caller, Role role) throws AccessException {
    return changed("drop", caller, role, null);
  }

  /** Make a principal a member of a role. */
  Answer add(Principal caller, Role role, Principal principal) throws AccessException {
    return changed("add", caller, role, principal);
  }

  /** Make a principal a member no more. */
  Answer remove(Principal caller, Role role, Principal principal) throws AccessException {
    return changed("remove", caller, role, principal);
  }

  /** The roles of a principal, of all where it is null. */
  Set<Role> list(Principal caller, Principal principal) throws Refusal {
    if (credentials == null) {
      throw Refusal.forbidden(OFF);
    }
    try {
      Fields answer = service.ask("cdap/v1/roles", credentials, question(caller, principal));
      if (!answer.truth("done")) {
        throw Refusal.forbidden(answer.text("reason"));
      }
      Set<Role> roles = new LinkedHashSet<>();
      for (String name : answer.texts("roles")) {
        roles.add(new Role(name));
      }
      return roles;
    } catch (ServiceFailure e) {
      throw Refusal.unavailable(e);
    }
  }

  /** A refusal that CDAP has an exception of its own for is thrown, with the sentence of the service. */
  private Answer changed(String what, Principal caller, Role role, Principal principal) throws AccessException {
    if (credentials == null) {
      return Answer.denied(OFF);
    }
    try {
      Map<String, Object> question = question(caller, principal);
      question.put("role", role.getName());
      Fields answer = service.ask("cdap/v1/role/" + what, credentials, question);
      try {
        answer.truth("changed");
        return answer.truth("done") ? Answer.allowed() : refused(answer.text("failure"), answer.text("reason"));
      } catch (ServiceFailure e) {
        throw service.noted(e);
      }
    } catch (ServiceFailure e) {
      return Answer.denied(e.sentence());
    }
  }

  private static Answer refused(String failure, String reason) throws AccessException {
    switch (failure) {
      case "exists":
        throw new AlreadyExistsException(reason);
      case "not_found":
        throw new NotFoundException(reason);
      default:
        return Answer.denied(reason);
    }
  }

  private static Map<String, Object> question(Principal caller, Principal principal) {
    Map<String, Object> question = new LinkedHashMap<>();
    if (caller != null) {
      question.put("caller", Wire.principal(caller));
    }
    if (principal != null) {
      question.put("principal", Wire.principal(principal));
    }
    return question;
  }
}
