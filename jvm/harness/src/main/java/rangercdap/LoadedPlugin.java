package rangercdap;

import static rangercdap.Harness.JSON;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Date;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.ranger.audit.model.AuthzAuditEvent;
import org.apache.ranger.authorization.hadoop.config.RangerPluginConfig;
import org.apache.ranger.plugin.audit.RangerDefaultAuditHandler;
import org.apache.ranger.plugin.model.RangerServiceDef;
import org.apache.ranger.plugin.policyengine.RangerAccessResult;
import org.apache.ranger.plugin.policyengine.RangerPolicyEngine;
import org.apache.ranger.plugin.policyengine.RangerPolicyEngineOptions;
import org.apache.ranger.plugin.policyengine.RangerResourceACLs;
import org.apache.ranger.plugin.policyengine.RangerResourceACLs.AccessResult;
import org.apache.ranger.plugin.service.RangerBasePlugin;
import org.apache.ranger.plugin.util.RangerRoles;
import org.apache.ranger.plugin.util.RangerUserStore;
import org.apache.ranger.plugin.util.ServicePolicies;
import org.apache.ranger.plugin.util.ServiceTags;

/** Ranger's own plugin, fed from a message (no refresher, no download), or from a Ranger Admin; without audit. */
final class LoadedPlugin extends RangerBasePlugin {

  private static final AtomicLong DEFINITIONS = new AtomicLong();

  private LoadedPlugin(RangerPluginConfig config) {
    super(config);
  }

  static LoadedPlugin load(JsonNode command) throws IOException {
    return of(JSON.treeToValue(command.path("policies"), ServicePolicies.class), command);
  }

  /** With roles, tags and users of the command, if it has them. */
  static LoadedPlugin of(ServicePolicies policies, JsonNode command) throws IOException {
    makeDistinct(policies.getServiceDef());
    LoadedPlugin plugin = new LoadedPlugin(config(policies, command.path("conf")));
    plugin.setPolicies(policies);
    if (plugin.getPolicyEngine() == null) {
      throw new IllegalArgumentException("the engine refuses these policies");
    }
    if (command.hasNonNull("roles")) {
      plugin.setRoles(JSON.treeToValue(command.get("roles"), RangerRoles.class));
    }
    if (command.hasNonNull("tags")) {
      plugin.setTags(command.get("tags"));
    }
    if (command.hasNonNull("userStore") && plugin.getUserStoreEnricher() != null) {
      plugin.getUserStoreEnricher()
          .setRangerUserStore(JSON.treeToValue(command.get("userStore"), RangerUserStore.class));
    }
    return plugin;
  }

  /** A plugin as CDAP would run it: its refresher downloads, at first and again when told to. */
  static LoadedPlugin download(JsonNode command) {
    LoadedPlugin plugin = new LoadedPlugin(
        new RangerPluginConfig(
            command.path("type").asText(),
            command.path("service").asText(),
            command.path("type").asText(),
            properties(command.path("conf"))));
    plugin.init();
    if (plugin.getPolicyEngine() == null) {
      plugin.cleanup();
      throw new IllegalStateException("no policies could be downloaded");
    }
    return plugin;
  }

  JsonNode refresh() {
    refreshPoliciesAndTags();
    return status();
  }

  /** Ranger keeps what it works out from a definition, for the whole JVM, by the definition's name and update time. */
  private static void makeDistinct(RangerServiceDef definition) {
    definition.setUpdateTime(new Date(DEFINITIONS.incrementAndGet()));
  }

  private static RangerPluginConfig config(ServicePolicies policies, JsonNode conf) {
    RangerPluginConfig config =
        new RangerPluginConfig(
            policies.getServiceDef().getName(), policies.getServiceName(), "harness", properties(conf));
    RangerPolicyEngineOptions options = config.getPolicyEngineOptions();
    options.disablePolicyRefresher = true;
    options.disableTagRetriever = true;
    options.disableUserStoreRetriever = true;
    return config;
  }

  private static Properties properties(JsonNode conf) {
    Properties properties = new Properties();
    conf.fields().forEachRemaining(entry -> properties.setProperty(entry.getKey(), entry.getValue().asText()));
    return properties;
  }

  JsonNode apply(JsonNode deltas) throws IOException {
    RangerPolicyEngine before = getPolicyEngine();
    setPolicies(JSON.treeToValue(deltas, ServicePolicies.class));
    return status().put("changed", getPolicyEngine() != before);
  }

  /** Without an enricher tags have nowhere to go. */
  JsonNode setTags(JsonNode tags) throws IOException {
    if (getTagEnricher() != null) {
      getTagEnricher().setServiceTags(JSON.treeToValue(tags, ServiceTags.class));
    }
    return status();
  }

  ObjectNode status() {
    return JSON.createObjectNode().put("policyVersion", getPolicyEngine().getPolicyVersion());
  }

  /** The decision, and the user and the groups by which Ranger made it; "auditedUser" is that of its audit record. */
  ObjectNode evaluate(JsonNode request) {
    RangerAccessResult result = isAccessAllowed(Requests.read(request));
    AuthzAuditEvent event = new RangerDefaultAuditHandler(getConfig()).getAuthzEvents(result);
    return JSON.createObjectNode()
        .put("user", result.getAccessRequest().getUser())
        .put("auditedUser", event == null ? null : event.getUser())
        .putPOJO("groups", result.getAccessRequest().getUserGroups())
        .put("allowed", result.getIsAllowed())
        .put("determined", result.getIsAccessDetermined())
        .put("policyId", result.getPolicyId())
        .put("policyPriority", result.getPolicyPriority())
        .put("policyVersion", result.getPolicyVersion())
        .put("audited", result.getIsAudited())
        .put("auditPolicyId", result.getAuditPolicyId())
        .put("reason", result.getReason())
        .put("zone", result.getZoneName());
  }

  ObjectNode acls(JsonNode request) {
    RangerResourceACLs acls = getResourceACLs(Requests.read(request));
    ObjectNode answer = JSON.createObjectNode();
    answer.set("users", byName(acls.getUserACLs()));
    answer.set("groups", byName(acls.getGroupACLs()));
    answer.set("roles", byName(acls.getRoleACLs()));
    return answer;
  }

  private static ObjectNode byName(Map<String, Map<String, AccessResult>> acls) {
    ObjectNode names = JSON.createObjectNode();
    acls.forEach((name, accesses) -> {
      ObjectNode byAccess = names.putObject(name);
      accesses.forEach((access, result) -> byAccess
          .putObject(access)
          .put("result", result.getResult())
          .put("final", result.getIsFinal())
          .put("policyId", result.getPolicy() == null ? null : result.getPolicy().getId()));
    });
    return names;
  }
}
