package rangercdap.extension;

import io.cdap.cdap.gateway.handlers.meta.RemotePrivilegesHandler;
import io.cdap.cdap.proto.element.EntityType;
import io.cdap.cdap.proto.id.EntityId;
import io.cdap.cdap.proto.id.NamespaceId;
import io.cdap.cdap.proto.security.Authorizable;
import io.cdap.cdap.proto.security.Credential;
import io.cdap.cdap.proto.security.GrantedPermission;
import io.cdap.cdap.proto.security.Permission;
import io.cdap.cdap.proto.security.PermissionType;
import io.cdap.cdap.proto.security.Principal;
import io.cdap.cdap.proto.security.Role;
import io.cdap.cdap.proto.security.StandardPermission;
import io.cdap.cdap.security.authorization.AccessControllerWrapper;
import io.cdap.cdap.security.authorization.AuthorizationUtil;
import io.cdap.cdap.security.spi.authentication.SecurityRequestContext;
import io.cdap.cdap.security.spi.authorization.AccessController;
import io.cdap.cdap.security.spi.authorization.AccessControllerSpi;
import io.cdap.cdap.security.spi.authorization.AuditLogContext;
import io.cdap.cdap.security.spi.authorization.AuditLogRequest;
import io.cdap.cdap.security.spi.authorization.AuditLoggerSpi.PublishStatus;
import io.cdap.cdap.security.spi.authorization.AuthorizationContext;
import io.cdap.cdap.security.spi.authorization.AuthorizationResponse;
import io.cdap.cdap.security.spi.authorization.AuthorizationResponse.AuthorizationStatus;
import io.cdap.cdap.security.spi.authorization.AuthorizedResult;
import io.cdap.cdap.security.spi.authorization.UnauthorizedException;
import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.LongSupplier;

/** Does with the extension what CDAP 6.11.1 does with it, and tells what its user would see. */
final class Commands {

  private AccessControllerSpi controller;
  private AllowedAnswers remembered;
  private Circuit circuit;
  private long nanos;

  void run(Map<String, Object> command, Map<String, Object> result) throws Exception {
    switch ((String) command.get("do")) {
      case "start":
        start(properties(command));
        break;
      case "address":
        // Where an extension with these properties would connect to; nothing is sent.
        result.put("host", new Settings(properties(command)).url().getHost());
        break;
      case "initialize":
        controller = instance();
        controller.initialize(context(properties(command)));
        break;
      case "enforce":
        enforce(command, result);
        break;
      case "enforce for a container":
        RemotePrivilegesHandler.enforce(() -> enforce(command, result));
        break;
      case "enforce together":
        result.put("allowed", together(((Double) command.get("users")).intValue()));
        break;
      case "enforce each second":
        result.put("texts", eachSecond(command));
        break;
      case "load":
        load(command, result);
        break;
      case "resources":
        result.put("threads", Thread.getAllStackTraces().size());
        result.put("files", new File("/proc/self/fd").list().length);
        break;
      case "visible":
        result.put("visible", visible(command));
        break;
      case "grant":
        answered(result, controller.grant(principal(command, "caller"), authorizable(command),
            principal(command, "principal"), permissions(command)));
        break;
      case "revoke":
        answered(result, controller.revoke(principal(command, "caller"), authorizable(command),
            principal(command, "principal"), permissions(command)));
        break;
      case "revoke all":
        answered(result, controller.revoke(principal(command, "caller"), authorizable(command)));
        break;
      case "list grants":
        result.put("grants", grants(controller.listGrants(principal(command, "caller"),
            principal(command, "principal"))));
        break;
      case "create role":
        answered(result, controller.createRole(principal(command, "caller"), role(command)));
        break;
      case "drop role":
        answered(result, controller.dropRole(principal(command, "caller"), role(command)));
        break;
      case "add role":
        answered(result, controller.addRoleToPrincipal(principal(command, "caller"), role(command),
            principal(command, "principal")));
        break;
      case "remove role":
        answered(result, controller.removeRoleFromPrincipal(principal(command, "caller"), role(command),
            principal(command, "principal")));
        break;
      case "list roles":
        result.put("roles", roles(command.get("principal") == null
            ? controller.listAllRoles(principal(command, "caller"))
            : controller.listRoles(principal(command, "caller"), principal(command, "principal"))));
        break;
      case "publish":
        publish(command, result);
        break;
      case "pass time":
        nanos += ((Double) command.get("ms")).longValue() * 1_000_000;
        break;
      case "frames":
        frames(command, result);
        break;
      case "new circuit":
        circuit = new Circuit(() -> nanos);
        break;
      case "enter":
        result.put("turn", circuit.enter());
        break;
      case "left":
        circuit.left(((Double) command.get("turn")).longValue(), (String) command.get("failure"));
        break;
      default:
        cache(command, result);
    }
  }

  private void start(Properties properties) throws Exception {
    Object extension = extensionClass().getDeclaredConstructor().newInstance();
    Method start = extensionClass().getDeclaredMethod("start", Settings.class, LongSupplier.class);
    try {
      start.invoke(extension, new Settings(properties), (LongSupplier) () -> nanos);
    } catch (InvocationTargetException e) {
      throw (Exception) e.getCause();
    }
    controller = wrapped(extension);
  }

  private static AccessControllerSpi instance() throws Exception {
    return wrapped(extensionClass().getDeclaredConstructor().newInstance());
  }

  /** The one of the two that is on the class path. */
  private static Class<?> extensionClass() throws ClassNotFoundException {
    try {
      return Class.forName("rangercdap.extension.RangerAccessControllerSpi");
    } catch (ClassNotFoundException e) {
      return Class.forName("rangercdap.extension.RangerAccessController");
    }
  }

  private static AccessControllerSpi wrapped(Object extension) {
    return extension instanceof AccessControllerSpi ? (AccessControllerSpi) extension
        : new AccessControllerWrapper((AccessController) extension);
  }

  private static AuthorizationContext context(Properties properties) {
    return (AuthorizationContext) Proxy.newProxyInstance(Commands.class.getClassLoader(),
        new Class<?>[] {AuthorizationContext.class}, (proxy, method, arguments) -> {
          if (method.getName().equals("getExtensionProperties")) {
            return properties;
          }
          throw new UnsupportedOperationException(method.getName());
        });
  }

  private Void enforce(Map<String, Object> command, Map<String, Object> result) throws Exception {
    Map<?, ?> request = (Map<?, ?>) command.get("request");
    if (request != null) {
      SecurityRequestContext.setUserId((String) request.get("user"));
      SecurityRequestContext.setUserIp((String) request.get("ip"));
    }
    try {
      EntityId entity = entity((Map<?, ?>) command.get("entity"));
      Principal principal = principal(command, "principal");
      String child = (String) command.get("child_type");
      AuthorizationResponse response = child == null
          ? controller.enforce(entity, principal, permissions(command))
          : controller.enforceOnParent(EntityType.valueOf(child), entity, principal,
              permissions(command).iterator().next());
      answered(result, response);
      result.put("audit", response.getAuditLogContext().getAuditLogBody());
      return null;
    } finally {
      SecurityRequestContext.reset();
    }
  }

  /** Whether `user 0`, `user 1` ... may, all asked at the same time. */
  private List<Boolean> together(int users) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(users);
    CountDownLatch start = new CountDownLatch(users);
    try {
      List<Future<Boolean>> answers = new ArrayList<>();
      for (int i = 0; i < users; i++) {
        Principal user = new Principal("user " + i, Principal.PrincipalType.USER);
        answers.add(threads.submit(() -> {
          start.countDown();
          start.await();
          return controller.enforce(new NamespaceId("ns1"), user, StandardPermission.GET).isAuthorized()
              == AuthorizationStatus.AUTHORIZED;
        }));
      }
      List<Boolean> allowed = new ArrayList<>();
      for (Future<Boolean> answer : answers) {
        allowed.add(answer.get());
      }
      return allowed;
    } finally {
      threads.shutdown();
    }
  }

  private void load(Map<String, Object> command, Map<String, Object> result) throws Exception {
    EnforceLoad load = new EnforceLoad(((Double) command.get("threads")).intValue(), (Double) command.get("seconds"),
        (Double) command.get("pause_ms"));
    String bare = (String) command.get("bare");
    if (bare == null) {
      load.extension(controller, result);
    } else {
      load.bare("127.0.0.1", ((Double) command.get("port")).intValue(), bare,
          ((Double) command.get("answer_length")).intValue(), result);
    }
  }

  /** What one user sees who asks again and again, each time when a second has passed. */
  private Set<String> eachSecond(Map<String, Object> command) throws Exception {
    Set<String> texts = new LinkedHashSet<>();
    for (int i = 0; i < ((Double) command.get("times")).intValue(); i++) {
      Map<String, Object> seen = new LinkedHashMap<>();
      enforce(command, seen);
      texts.add(String.valueOf(seen.get("text")));
      nanos += 1_000_000_000;
    }
    return texts;
  }

  private static void answered(Map<String, Object> result, AuthorizationResponse response) {
    result.put("allowed", response.isAuthorized() == AuthorizationStatus.AUTHORIZED);
    try {
      AuthorizationUtil.throwIfUnauthorized(response);
    } catch (UnauthorizedException e) {
      result.put("text", e.getMessage());
    }
  }

  private List<Object> visible(Map<String, Object> command) throws Exception {
    List<EntityId> entities = new ArrayList<>();
    for (Object entity : (List<?>) command.get("entities")) {
      entities.add(entity((Map<?, ?>) entity));
    }
    Map<? extends EntityId, AuthorizationResponse> responses =
        controller.isVisible(new LinkedHashSet<>(entities), principal(command, "principal"));
    List<Object> visible = new ArrayList<>();
    for (EntityId entity : entities) {
      AuthorizationResponse response = responses.get(entity);
      visible.add(response == null ? "missing" : response.isAuthorized() == AuthorizationStatus.AUTHORIZED);
    }
    return visible;
  }

  private static List<String> grants(AuthorizedResult<Set<GrantedPermission>> grants) {
    List<String> list = new ArrayList<>();
    for (GrantedPermission grant : grants.getResult()) {
      list.add(grant.getAuthorizable() + " " + grant.getPermission().getPermissionType() + "."
          + grant.getPermission().name());
    }
    return list;
  }

  private static List<String> roles(AuthorizedResult<Set<Role>> roles) {
    List<String> names = new ArrayList<>();
    for (Role role : roles.getResult()) {
      names.add(role.getName());
    }
    return names;
  }

  private static Role role(Map<String, Object> command) {
    return new Role((String) command.get("role"));
  }

  private void publish(Map<String, Object> command, Map<String, Object> result) {
    Map<?, ?> request = (Map<?, ?>) command.get("request");
    Queue<AuditLogContext> queue = new ArrayDeque<>();
    for (Object body : (List<?>) command.get("bodies")) {
      queue.add(new AuditLogContext.Builder().setAuditLoggingRequired(true).setAuditLogBody((String) body).build());
    }
    PublishStatus status = controller.publishAuditLogs(new AuditLogRequest.Builder()
        .operationResponseCode(((Double) request.get("code")).intValue()).userIp((String) request.get("ip"))
        .uri((String) request.get("uri")).handler((String) request.get("handler"))
        .method((String) request.get("method")).methodType((String) request.get("method_type"))
        .auditLogContextQueue(queue).startTimeNanos(((Double) request.get("started")).longValue() * 1_000_000)
        .endTimeNanos(((Double) request.get("ended")).longValue() * 1_000_000).build());
    result.put("status", status.name());
    if (status == PublishStatus.UNSUCCESSFUL) {
      result.put("text", status.getEx().getMessage());
    }
  }

  private static void frames(Map<String, Object> command, Map<String, Object> result) {
    List<StackTraceElement> frames = new ArrayList<>();
    for (Object frame : (List<?>) command.get("frames")) {
      String[] names = ((String) frame).split("#");
      frames.add(new StackTraceElement(names[0], names[1], "X.java", 1));
    }
    CallingFrames calling = new CallingFrames(frames.toArray(new StackTraceElement[0]));
    result.put("hint", calling.hint());
    result.put("from_container", calling.fromContainer());
  }

  private void cache(Map<String, Object> command, Map<String, Object> result) {
    Object question = command.get("question");
    String generation = (String) command.get("generation");
    switch ((String) command.get("do")) {
      case "new cache":
        remembered = new AllowedAnswers(((Double) command.get("seconds")).intValue(),
            ((Double) command.get("most")).intValue(), () -> nanos);
        break;
      case "seen":
        remembered.seen(generation);
        break;
      case "remember":
        remembered.remember(question, generation,
            nanos - ((Double) command.get("asked_ms_ago")).longValue() * 1_000_000);
        break;
      case "holds":
        result.put("holds", remembered.holds(question));
        break;
      default:
        throw new IllegalArgumentException("no such command");
    }
  }

  private static Properties properties(Map<String, Object> command) {
    Properties properties = new Properties();
    properties.putAll((Map<?, ?>) command.get("properties"));
    return properties;
  }

  private static EntityId entity(Map<?, ?> json) {
    List<String> parts = new ArrayList<>();
    for (Object part : (List<?>) json.get("parts")) {
      parts.add((String) part);
    }
    return EntityType.valueOf((String) json.get("type")).fromIdParts(parts);
  }

  private static Authorizable authorizable(Map<String, Object> command) {
    return Authorizable.fromString((String) command.get("authorizable"));
  }

  private static Principal principal(Map<String, Object> command, String field) {
    Map<?, ?> json = (Map<?, ?>) command.get(field);
    if (json == null) {
      return null;
    }
    Credential credential = json.get("credential") == null ? null
        : new Credential((String) json.get("credential"), Credential.CredentialType.EXTERNAL);
    String type = json.get("type") == null ? "USER" : (String) json.get("type");
    return new Principal((String) json.get("name"), Principal.PrincipalType.valueOf(type),
        (String) json.get("kerberos"), credential);
  }

  private static Set<Permission> permissions(Map<String, Object> command) {
    Set<Permission> permissions = new LinkedHashSet<>();
    for (Object name : (List<?>) command.get("permissions")) {
      List<String> names = Arrays.asList(((String) name).split("\\."));
      permissions.add(PermissionType.valueOf(names.get(0), names.get(1)));
    }
    return permissions;
  }
}
