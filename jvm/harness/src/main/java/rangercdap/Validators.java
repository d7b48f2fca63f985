package rangercdap;

import static rangercdap.Harness.JSON;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.ranger.plugin.model.RangerPolicy;
import org.apache.ranger.plugin.model.RangerPolicyResourceSignature;
import org.apache.ranger.plugin.model.RangerService;
import org.apache.ranger.plugin.model.RangerServiceDef;
import org.apache.ranger.plugin.model.validation.RangerPolicyValidator;
import org.apache.ranger.plugin.model.validation.RangerServiceDefValidator;
import org.apache.ranger.plugin.model.validation.RangerValidator.Action;
import org.apache.ranger.plugin.store.ServiceStore;

/** Ranger Admin's validators over a store with one definition, one service and the policies found valid so far. */
final class Validators {

  private static final long ID = 1;

  private final RangerServiceDef definition;
  private final RangerService service;
  private final List<RangerPolicy> policies = new ArrayList<>();
  private final ServiceStore store = (ServiceStore)
      Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {ServiceStore.class}, this::look);
  private boolean hasDefinition;

  private Validators(RangerServiceDef definition, String serviceName) {
    this.definition = definition;
    service = new RangerService(definition.getName(), serviceName, null, null, null);
    service.setId(ID);
  }

  /**
   * For the definition and each policy of the command the validator's text, null if it is valid; `saved` has the
   * policies as the validator leaves them.
   */
  static ObjectNode validate(JsonNode command) throws IOException {
    RangerServiceDef definition = JSON.treeToValue(command.path("definition"), RangerServiceDef.class);
    Validators validators = new Validators(definition, command.path("service").asText());
    ObjectNode answer = JSON.createObjectNode().put("definition", validators.definitionProblem());
    ArrayNode policies = answer.putArray("policies");
    ArrayNode saved = answer.putArray("saved");
    for (JsonNode sent : command.path("policies")) {
      RangerPolicy policy = JSON.treeToValue(sent, RangerPolicy.class);
      policies.add(validators.policyProblem(policy));
      saved.add(JSON.valueToTree(policy));
    }
    return answer;
  }

  private String definitionProblem() {
    try {
      new RangerServiceDefValidator(store).validate(definition, Action.CREATE);
      return null;
    } catch (Exception refused) {
      return refused.toString(); // with its class, because the text may be missing
    } finally {
      definition.setId(ID);
      hasDefinition = true;
    }
  }

  private String policyProblem(RangerPolicy policy) {
    try {
      new RangerPolicyValidator(store).validate(policy, Action.CREATE, true);
      policy.setId((long) policies.size() + 1);
      policies.add(policy);
      return null;
    } catch (Exception refused) {
      return refused.toString(); // with its class, because the text may be missing
    }
  }

  private Object look(Object proxy, Method method, Object[] arguments) {
    return switch (method.getName()) {
      case "getServiceDefByName", "getServiceDefByDisplayName", "getServiceDef" -> hasDefinition ? definition : null;
      case "getServiceByName" -> service.getName().equals(arguments[0]) ? service : null;
      case "getPolicyId" -> policies.stream()
          .filter(policy -> policy.getName().equals(arguments[1]))
          .map(RangerPolicy::getId)
          .findFirst()
          .orElse(null);
      case "getPoliciesByResourceSignature" -> policies.stream()
          .filter(policy -> policy.getIsEnabled().equals(arguments[2])
              && new RangerPolicyResourceSignature(policy).getSignature().equals(arguments[1]))
          .collect(Collectors.toCollection(ArrayList::new));
      case "getSecurityZone", "getPolicy", "getService" -> null;
      default -> throw new UnsupportedOperationException(method.getName());
    };
  }
}
