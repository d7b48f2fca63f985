package rangercdap;

import static rangercdap.Harness.JSON;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Date;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.ranger.authorization.hadoop.config.RangerPluginConfig;
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

/** Ranger's own plugin, fed from a message instead of from a Ranger Admin: no refresher, no download, no audit. */
final class LoadedPlugin extends RangerBasePlugin {
    private static final AtomicLong DEFINITIONS = new AtomicLong();

    private LoadedPlugin(RangerPluginConfig config) {
        super(config);
    }

    static LoadedPlugin load(JsonNode command) throws IOException {
        ServicePolicies policies = JSON.treeToValue(command.path("policies"), ServicePolicies.class);
        makeDistinct(policies.getServiceDef());
        LoadedPlugin plugin = new LoadedPlugin(config(policies, command.path("conf")));
        plugin.setPolicies(policies);
        if (plugin.getPolicyEngine() == null) {
            throw new IllegalArgumentException("the engine refuses these policies");
        }
        if (command.hasNonNull("roles")) {
            plugin.setRoles(JSON.treeToValue(command.get("roles"), RangerRoles.class));
        }
        if (command.hasNonNull("tags") && plugin.getTagEnricher() != null) {
            plugin.getTagEnricher().setServiceTags(JSON.treeToValue(command.get("tags"), ServiceTags.class));
        }
        if (command.hasNonNull("userStore") && plugin.getUserStoreEnricher() != null) {
            plugin.getUserStoreEnricher()
                    .setRangerUserStore(JSON.treeToValue(command.get("userStore"), RangerUserStore.class));
        }
        return plugin;
    }

    /** Ranger keeps what it works out from a definition, for the whole JVM, by the definition's name and update time. */
    private static void makeDistinct(RangerServiceDef definition) {
        definition.setUpdateTime(new Date(DEFINITIONS.incrementAndGet()));
    }

    private static RangerPluginConfig config(ServicePolicies policies, JsonNode conf) {
        Properties properties = new Properties();
        conf.fields().forEachRemaining(entry -> properties.setProperty(entry.getKey(), entry.getValue().asText()));
        RangerPluginConfig config =
                new RangerPluginConfig(
                        policies.getServiceDef().getName(), policies.getServiceName(), "harness", properties);
        RangerPolicyEngineOptions options = config.getPolicyEngineOptions();
        options.disablePolicyRefresher = true;
        options.disableTagRetriever = true;
        options.disableUserStoreRetriever = true;
        return config;
    }

    JsonNode apply(JsonNode deltas) throws IOException {
        RangerPolicyEngine before = getPolicyEngine();
        setPolicies(JSON.treeToValue(deltas, ServicePolicies.class));
        return status().put("changed", getPolicyEngine() != before);
    }

    ObjectNode status() {
        return JSON.createObjectNode().put("policyVersion", getPolicyEngine().getPolicyVersion());
    }

    ObjectNode evaluate(JsonNode request) {
        RangerAccessResult result = isAccessAllowed(Requests.read(request));
        return JSON.createObjectNode()
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
