package io.cdap.cdap.security.authorization;

import com.google.common.base.Throwables;
import com.google.gson.Gson;
import io.cdap.cdap.api.common.HttpErrorStatusProvider;
import io.cdap.cdap.common.conf.CConfiguration;
import io.cdap.cdap.common.conf.Constants;
import io.cdap.cdap.gateway.handlers.meta.RemotePrivilegesHandler;
import io.cdap.cdap.proto.element.EntityType;
import io.cdap.cdap.proto.id.EntityId;
import io.cdap.cdap.proto.security.Action;
import io.cdap.cdap.proto.security.Authorizable;
import io.cdap.cdap.proto.security.Principal;
import io.cdap.cdap.proto.security.Role;
import io.cdap.cdap.security.spi.authorization.AuthorizationContext;
import io.cdap.cdap.security.spi.authorization.Authorizer;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Loads the extension and asks it as CDAP does, in the package of CDAP's own enforcer: a command a line. */
public final class AuthorizerDriver {

  private static final Gson GSON = new Gson();

  private AuthorizerInstantiator instantiator;
  private DefaultAuthorizationEnforcer enforcer;

  private AuthorizerDriver() {}

  /** Until the input ends. */
  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(System.out, true, "UTF-8");
    System.setOut(System.err);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    AuthorizerDriver driver = new AuthorizerDriver();
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      out.println(GSON.toJson(driver.result(GSON.fromJson(line, Map.class))));
    }
    System.exit(0);
  }

  private Map<String, Object> result(Map<?, ?> command) {
    Map<String, Object> result = new LinkedHashMap<>();
    try {
      run(command, result);
    } catch (Exception e) {
      result.clear();
      result.put("error", e.getClass().getSimpleName());
      result.put("text", String.valueOf(e.getMessage()));
      if (e.getCause() != null) {
        result.put("cause", String.valueOf(Throwables.getRootCause(e).getMessage()));
      }
      if (e instanceof HttpErrorStatusProvider) {
        result.put("status", ((HttpErrorStatusProvider) e).getStatusCode());
      }
    }
    return result;
  }

  private void run(Map<?, ?> command, Map<String, Object> result) throws Exception {
    switch ((String) command.get("do")) {
      case "start":
        start(command);
        result.put("interface", Authorizer.class.getName());
        break;
      case "enforce":
        enforce(command);
        result.put("allowed", true);
        break;
      case "enforce for a container":
        RemotePrivilegesHandler.enforce(() -> {
          enforce(command);
          return null;
        });
        result.put("allowed", true);
        break;
      case "visible":
        Set<EntityId> entities = new LinkedHashSet<>();
        for (Object entity : (List<?>) command.get("entities")) {
          entities.add(entity((Map<?, ?>) entity));
        }
        List<Boolean> seen = new ArrayList<>();
        Set<? extends EntityId> visible = enforcer.isVisible(entities, principal(command));
        for (EntityId entity : entities) {
          seen.add(visible.contains(entity));
        }
        result.put("visible", seen);
        break;
      default:
        handOut((String) command.get("do"), command);
    }
  }

  private void start(Map<?, ?> command) throws Exception {
    if (instantiator != null) {
      instantiator.close();
    }
    CConfiguration conf = CConfiguration.create();
    conf.set(Constants.CFG_LOCAL_DATA_DIR, (String) command.get("directory"));
    conf.setBoolean(Constants.Security.ENABLED, true);
    conf.setBoolean(Constants.Security.KERBEROS_ENABLED, false);
    conf.setBoolean(Constants.Security.Authorization.ENABLED, true);
    conf.set(Constants.Security.Authorization.EXTENSION_JAR_PATH, (String) command.get("jar"));
    for (Map.Entry<?, ?> property : ((Map<?, ?>) command.get("properties")).entrySet()) {
      conf.set(Constants.Security.Authorization.EXTENSION_CONFIG_PREFIX + property.getKey(),
          (String) property.getValue());
    }
    instantiator = new AuthorizerInstantiator(conf, properties -> (AuthorizationContext) Proxy.newProxyInstance(
        AuthorizerDriver.class.getClassLoader(), new Class<?>[] {AuthorizationContext.class},
        (proxy, method, arguments) -> {
          if (method.getName().equals("getExtensionProperties")) {
            return properties;
          }
          throw new UnsupportedOperationException(method.getName());
        }));
    enforcer = new DefaultAuthorizationEnforcer(conf, instantiator);
    instantiator.get();
  }

  private void enforce(Map<?, ?> command) throws Exception {
    Set<Action> actions = actions(command);
    EntityId entity = entity((Map<?, ?>) command.get("entity"));
    if (actions.size() == 1) {
      enforcer.enforce(entity, principal(command), actions.iterator().next());
    } else {
      enforcer.enforce(entity, principal(command), actions);
    }
  }

  private void handOut(String what, Map<?, ?> command) throws Exception {
    Authorizer authorizer = instantiator.get();
    Role role = new Role("auditors");
    Authorizable namespace = Authorizable.fromString("namespace:ns1");
    switch (what) {
      case "grant":
        authorizer.grant(namespace, principal(command), Collections.singleton(Action.READ));
        break;
      case "revoke":
        authorizer.revoke(namespace, principal(command), Collections.singleton(Action.READ));
        break;
      case "revoke all":
        authorizer.revoke(namespace);
        break;
      case "list privileges":
        authorizer.listPrivileges(principal(command));
        break;
      case "create role":
        authorizer.createRole(role);
        break;
      case "drop role":
        authorizer.dropRole(role);
        break;
      case "add role":
        authorizer.addRoleToPrincipal(role, principal(command));
        break;
      case "remove role":
        authorizer.removeRoleFromPrincipal(role, principal(command));
        break;
      case "list roles":
        authorizer.listRoles(principal(command));
        break;
      case "list all roles":
        authorizer.listAllRoles();
        break;
      default:
        throw new IllegalArgumentException("no such command");
    }
  }

  private static EntityId entity(Map<?, ?> json) {
    List<String> parts = new ArrayList<>();
    for (Object part : (List<?>) json.get("parts")) {
      parts.add((String) part);
    }
    return EntityType.valueOf((String) json.get("type")).fromIdParts(parts);
  }

  private static Set<Action> actions(Map<?, ?> command) {
    Set<Action> actions = new LinkedHashSet<>();
    for (Object name : (List<?>) command.get("actions")) {
      actions.add(Action.valueOf((String) name));
    }
    return actions;
  }

  private static Principal principal(Map<?, ?> command) {
    Map<?, ?> json = (Map<?, ?>) command.get("principal");
    String type = json.get("type") == null ? "USER" : (String) json.get("type");
    return new Principal((String) json.get("name"), Principal.PrincipalType.valueOf(type),
        (String) json.get("kerberos"));
  }
}
