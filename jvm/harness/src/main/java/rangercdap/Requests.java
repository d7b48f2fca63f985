package rangercdap;

import static rangercdap.Harness.JSON;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.ranger.plugin.contextenricher.RangerTagForEval;
import org.apache.ranger.plugin.model.RangerTag;
import org.apache.ranger.plugin.policyengine.RangerAccessRequest.ResourceElementMatchingScope;
import org.apache.ranger.plugin.policyengine.RangerAccessRequest.ResourceMatchingScope;
import org.apache.ranger.plugin.policyengine.RangerAccessRequestImpl;
import org.apache.ranger.plugin.policyengine.RangerAccessResourceImpl;
import org.apache.ranger.plugin.policyresourcematcher.RangerPolicyResourceMatcher.MatchType;
import org.apache.ranger.plugin.util.RangerAccessRequestUtil;

/** A request of `ranger-cdap eval` as Ranger's request; what is absent or null stays at Ranger's default. */
final class Requests {

  private Requests() {}

  static RangerAccessRequestImpl read(JsonNode json) {
    RangerAccessRequestImpl request = new RangerAccessRequestImpl();
    request.setResource(resource(json));
    ifPresent(json, "accessType", node -> request.setAccessType(node.asText()));
    ifPresent(json, "user", node -> request.setUser(node.asText()));
    ifPresent(json, "groups", node -> request.setUserGroups(set(node)));
    ifPresent(json, "roles", node -> request.setUserRoles(set(node)));
    ifPresent(json, "accessTime", node -> request.setAccessTime(time(node)));
    ifPresent(json, "matchingScope", node ->
        request.setResourceMatchingScope(ResourceMatchingScope.valueOf(node.asText())));
    ifPresent(json, "elementScopes", node -> request.setResourceElementMatchingScopes(elementScopes(node)));
    ifPresent(json, "ignoreDescendantDeny", node -> request.setIgnoreDescendantDeny(node.asBoolean()));
    ifPresent(json, "action", node -> request.setAction(node.asText()));
    ifPresent(json, "clientIP", node -> request.setClientIPAddress(node.asText()));
    ifPresent(json, "remoteIP", node -> request.setRemoteIPAddress(node.asText()));
    ifPresent(json, "forwarded", node -> request.setForwardedAddresses(list(node)));
    ifPresent(json, "clusterName", node -> request.setClusterName(node.asText()));
    ifPresent(json, "clusterType", node -> request.setClusterType(node.asText()));
    request.setContext(context(json));
    ifPresent(json, "allAccessTypeGroups", node -> {
      Set<Set<String>> groups = new HashSet<>();
      node.forEach(group -> groups.add(set(group)));
      RangerAccessRequestUtil.setAllRequestedAccessTypeGroups(request, groups);
    });
    return request;
  }

  private static RangerAccessResourceImpl resource(JsonNode json) {
    Map<String, Object> elements = new HashMap<>();
    json.path("resource").fields().forEachRemaining(entry -> {
      JsonNode value = entry.getValue();
      elements.put(entry.getKey(), value.isNull() ? null : value.isArray() ? list(value) : value.asText());
    });
    return new RangerAccessResourceImpl(elements, json.path("resourceOwner").asText(null));
  }

  private static Map<String, Object> context(JsonNode json) {
    Map<String, Object> context = new HashMap<>();
    json.path("context").fields().forEachRemaining(entry ->
        context.put(entry.getKey(), JSON.convertValue(entry.getValue(), Object.class)));
    ifPresent(json, "allAccessTypes", node -> RangerAccessRequestUtil.setAllRequestedAccessTypes(context, set(node)));
    ifPresent(json, "tags", node -> {
      Set<RangerTagForEval> tags = new HashSet<>();
      node.forEach(tag -> tags.add(tag(tag)));
      RangerAccessRequestUtil.setRequestTagsInContext(context, tags);
    });
    return context;
  }

  private static RangerTagForEval tag(JsonNode json) {
    try {
      MatchType matchType = MatchType.valueOf(json.path("matchType").asText(MatchType.SELF.name()));
      return new RangerTagForEval(JSON.treeToValue(json, RangerTag.class), matchType);
    } catch (JsonProcessingException unreadable) {
      throw new IllegalArgumentException("not a tag: " + unreadable.getOriginalMessage(), unreadable);
    }
  }

  private static Map<String, ResourceElementMatchingScope> elementScopes(JsonNode node) {
    Map<String, ResourceElementMatchingScope> scopes = new HashMap<>();
    node.fields().forEachRemaining(entry ->
        scopes.put(entry.getKey(), ResourceElementMatchingScope.valueOf(entry.getValue().asText())));
    return scopes;
  }

  private static Date time(JsonNode node) {
    return node.isNumber() ? new Date(node.asLong()) : Date.from(Instant.parse(node.asText()));
  }

  private static List<String> list(JsonNode node) {
    List<String> values = new ArrayList<>();
    node.forEach(value -> values.add(value.asText(null)));
    return values;
  }

  private static Set<String> set(JsonNode node) {
    return new HashSet<>(list(node));
  }

  private static void ifPresent(JsonNode json, String field, Consumer<JsonNode> use) {
    JsonNode node = json.get(field);
    if (node != null && !node.isNull()) {
      use.accept(node);
    }
  }
}
