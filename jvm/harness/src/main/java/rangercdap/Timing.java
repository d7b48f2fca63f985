package rangercdap;

import static rangercdap.Harness.JSON;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.ranger.plugin.policyengine.RangerAccessRequest.ResourceMatchingScope;
import org.apache.ranger.plugin.policyengine.RangerAccessRequestImpl;
import org.apache.ranger.plugin.policyengine.RangerAccessResourceImpl;
import org.apache.ranger.plugin.policyengine.RangerAccessResult;
import org.apache.ranger.plugin.service.RangerBasePlugin;

/** How fast Ranger's engine answers a file of questions, one JSON object a line; they are read anew for each pass. */
final class Timing {

  private Timing() {}

  private record Asked(
      Map<String, Object> resource, String access, String user, Set<String> groups, String scope, String ip) {}

  /** Rates of all passes (the request made and the decision returned inside), p50 and p99 of the last, its answers. */
  static ObjectNode time(RangerBasePlugin plugin, JsonNode command) throws IOException {
    List<String> lines = Files.readAllLines(Path.of(command.path("file").asText()));
    ObjectNode answer = JSON.createObjectNode();
    ArrayNode rates = answer.putArray("rates");
    int passes = command.path("passes").asInt();
    for (int pass = 0; pass < passes; pass++) {
      List<Asked> asked = read(lines);
      long began = System.nanoTime();
      int allowed = 0;
      for (Asked one : asked) {
        allowed += decide(plugin, one).getIsAllowed() ? 1 : 0;
      }
      rates.add(asked.size() / ((System.nanoTime() - began) / 1e9));
      answer.put("allowed", allowed);
    }
    measureEach(plugin, read(lines), answer);
    return answer;
  }

  /** Megabytes of live objects. */
  static double heap() {
    for (int i = 0; i < 3; i++) {
      System.gc();
    }
    Runtime runtime = Runtime.getRuntime();
    return (runtime.totalMemory() - runtime.freeMemory()) / 1048576.0;
  }

  private static void measureEach(RangerBasePlugin plugin, List<Asked> asked, ObjectNode answer) {
    long[] lasted = new long[asked.size()];
    long[] policies = new long[asked.size()];
    StringBuilder allowed = new StringBuilder();
    for (int i = 0; i < lasted.length; i++) {
      long began = System.nanoTime();
      RangerAccessResult result = decide(plugin, asked.get(i));
      lasted[i] = System.nanoTime() - began;
      policies[i] = result.getPolicyId();
      allowed.append(result.getIsAllowed() ? '1' : '0');
    }
    Arrays.sort(lasted);
    answer.put("p50", lasted[lasted.length / 2] / 1e3).put("p99", lasted[lasted.length * 99 / 100] / 1e3);
    answer.put("answers", allowed.toString());
    ArrayNode ids = answer.putArray("policies");
    Arrays.stream(policies).forEach(ids::add);
  }

  private static RangerAccessResult decide(RangerBasePlugin plugin, Asked asked) {
    RangerAccessRequestImpl request = new RangerAccessRequestImpl(
        new RangerAccessResourceImpl(asked.resource), asked.access, asked.user, asked.groups, null);
    request.setAccessTime(new Date(1_700_000_000_000L));
    if (asked.scope != null) {
      request.setResourceMatchingScope(ResourceMatchingScope.valueOf(asked.scope));
    }
    if (asked.ip != null) {
      request.setClientIPAddress(asked.ip);
    }
    return plugin.isAccessAllowed(request);
  }

  private static List<Asked> read(List<String> lines) throws IOException {
    List<Asked> asked = new ArrayList<>(lines.size());
    for (String line : lines) {
      JsonNode json = JSON.readTree(line);
      Map<String, Object> resource = new HashMap<>();
      json.path("resource").fields().forEachRemaining(e -> resource.put(e.getKey(), e.getValue().asText()));
      Set<String> groups = new HashSet<>();
      json.path("groups").forEach(group -> groups.add(group.asText()));
      asked.add(new Asked(
          resource,
          json.path("access").asText(),
          json.path("user").asText(),
          groups,
          json.path("scope").asText(null),
          json.path("ip").asText(null)));
    }
    return asked;
  }
}
