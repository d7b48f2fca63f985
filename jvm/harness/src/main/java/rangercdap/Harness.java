package rangercdap;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.TimeZone;
import java.util.function.Function;
import org.apache.ranger.authorization.utils.JsonUtils;
import org.apache.ranger.plugin.util.ServicePolicies;

/**
 * Ranger's engine behind JSON lines: one command a line on standard input, one answer a line on standard output.
 *
 * <pre>
 * {"command": "load", "engine": NAME, "policies": ServicePolicies, "roles"?, "tags"?, "userStore"?, "conf"?}
 * {"command": "delta", "engine": NAME, "policies": ServicePolicies with policyDeltas}
 * {"command": "tags", "engine": NAME, "tags": ServiceTags}
 * {"command": "evaluate", "engine": NAME, "requests": [request, ...]}
 * {"command": "acls", "engine": NAME, "requests": [request, ...]}
 * {"command": "download", "engine": NAME, "type": definition, "service": name, "conf"}
 * {"command": "refresh", "engine": NAME}
 * {"command": "validate", "definition": RangerServiceDef, "service": name, "policies": [RangerPolicy, ...]}
 * {"command": "service", "jars": directory, "definition": RangerServiceDef, "service": RangerService,
 *  "lookup"?: ResourceLookupContext, "patience": milliseconds}
 * {"command": "configuration", "reader": "hadoop" or "cdap", "files": [XML file, ...]}
 * {"command": "groups", "file": core-site.xml}
 * {"command": "encrypt", "password": text, "algorithm": name}
 * {"command": "loadFile", "engine": NAME, "file": ServicePolicies, "roles"?, "tags"?, "userStore"?, "conf"?}
 * {"command": "time", "engine": NAME, "file": requests, "passes": n}
 * {"command": "drop", "engine": NAME}
 * </pre>
 *
 * {@code conf} holds a plugin's properties, each a text; what has a question mark may be missing.
 *
 * <p>A command that fails is answered {"error": text}; a request that fails has that in its place among the answers.
 */
public final class Harness {

  static final ObjectMapper JSON = JsonUtils.getMapper();

  private final Map<String, LoadedPlugin> engines = new HashMap<>();

  private Harness() {}

  public static void main(String[] arguments) throws IOException {
    TimeZone.setDefault(TimeZone.getTimeZone("UTC")); // Ranger evaluates recurrences in the zone of its JVM
    PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setOut(System.err); // whatever a library prints must not be taken for an answer
    Harness harness = new Harness();
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      answers.println(harness.answer(line));
    }
  }

  private JsonNode answer(String line) {
    try {
      JsonNode command = JSON.readTree(line);
      String engine = command.path("engine").asText();
      return switch (command.path("command").asText()) {
        case "load" -> load(engine, command);
        case "download" -> keep(engine, LoadedPlugin.download(command));
        case "refresh" -> engine(engine).refresh();
        case "validate" -> Validators.validate(command);
        case "service" -> Services.ask(command);
        case "configuration" -> Configurations.read(command);
        case "groups" -> Configurations.groups(command);
        case "encrypt" -> Services.encrypt(command);
        case "delta" -> engine(engine).apply(command.path("policies"));
        case "tags" -> engine(engine).setTags(command.path("tags"));
        case "evaluate" -> each(command, engine(engine)::evaluate);
        case "acls" -> each(command, engine(engine)::acls);
        case "loadFile" -> loadFile(engine, command);
        case "time" -> Timing.time(engine(engine), command);
        case "drop" -> drop(engine);
        default -> error("unknown command " + command.path("command"));
      };
    } catch (Exception | LinkageError failure) {
      return error(failure);
    }
  }

  private JsonNode load(String name, JsonNode command) throws IOException {
    return keep(name, LoadedPlugin.load(command));
  }

  /** As load, with how long reading and building took and how much live memory the engine holds. */
  private JsonNode loadFile(String name, JsonNode command) throws IOException {
    drop(name);
    double before = Timing.heap();
    long began = System.nanoTime();
    ServicePolicies policies = JSON.readValue(new File(command.path("file").asText()), ServicePolicies.class);
    double parsed = (System.nanoTime() - began) / 1e9;
    LoadedPlugin plugin = LoadedPlugin.of(policies, command);
    double built = (System.nanoTime() - began) / 1e9;
    keep(name, plugin);
    return JSON.createObjectNode().put("parsed", parsed).put("loaded", built).put("heap", Timing.heap() - before);
  }

  private JsonNode keep(String name, LoadedPlugin plugin) {
    drop(name);
    engines.put(name, plugin);
    return plugin.status();
  }

  private JsonNode drop(String name) {
    LoadedPlugin plugin = engines.remove(name);
    if (plugin != null) {
      plugin.cleanup();
    }
    return JSON.createObjectNode().put("dropped", plugin != null);
  }

  private LoadedPlugin engine(String name) {
    LoadedPlugin plugin = engines.get(name);
    if (plugin == null) {
      throw new IllegalArgumentException("no engine is loaded as " + name);
    }
    return plugin;
  }

  private static JsonNode each(JsonNode command, Function<JsonNode, ObjectNode> evaluate) {
    ObjectNode answer = JSON.createObjectNode();
    ArrayNode answers = answer.putArray("answers");
    for (JsonNode request : command.path("requests")) {
      ObjectNode one;
      try {
        one = evaluate.apply(request);
      } catch (Exception | LinkageError failure) {
        one = error(failure);
      }
      if (request.has("id")) {
        one.set("id", request.get("id"));
      }
      answers.add(one);
    }
    return answer;
  }

  private static ObjectNode error(Throwable failure) {
    return error(failure.getClass().getSimpleName() + ": " + failure.getMessage());
  }

  private static ObjectNode error(String text) {
    return JSON.createObjectNode().put("error", text);
  }
}
