package rangercdap.lookup;

import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * A level of the service definition: what it is within, which names it takes, and where CDAP lists them.
 *
 * <p>The names are those that grants take ({@code entities.toml}): what CDAP lists under another one, such as one with
 * a wildcard, would mean something else in a policy and is not offered. CDAP has no list of topics.
 */
final class Level {

  /** The level that the settings name. */
  static final String INSTANCE = "instance";

  private static final int LONGEST_NAME = 1_000;
  private static final String NAMESPACE = "namespace";
  private static final String NAME = "[a-zA-Z0-9_-]+";
  private static final String DATASET = "[$.a-zA-Z0-9_-]+";
  private static final String CREDENTIAL = "[a-z][a-z0-9-]*";
  private static final Map<String, Level> BY_NAME = new LinkedHashMap<>();

  static {
    level(INSTANCE, "", NAME);
    level(NAMESPACE, INSTANCE, "[a-zA-Z0-9_]+", Listing.of("/v3/namespaces", "name"),
        Listing.single("/v3/namespaces/system", "name"));
    level("principal", INSTANCE, "[$.a-zA-Z0-9_/@-]+", Listing.of("/v3/namespaces", "config.principal"));
    level("system_service", INSTANCE, DATASET, Listing.of("/v3/system/services/status", "name"));
    level("artifact", NAMESPACE, "[.a-zA-Z0-9_-]+", inNamespace("artifacts?scope={scope}"));
    level("application", NAMESPACE, NAME, inNamespace("apps").in("applications").paged());
    level("dataset", NAMESPACE, DATASET, inNamespace("data/datasets"));
    level("dataset_module", NAMESPACE, DATASET, inNamespace("data/modules"));
    level("dataset_type", NAMESPACE, DATASET, inNamespace("data/types"));
    level("stream", NAMESPACE, NAME, inNamespace("streams"));
    level("secure_key", NAMESPACE, "[a-z0-9_-]+", inNamespace("securekeys/"));
    level("profile", NAMESPACE, NAME, inNamespace("profiles"));
    level("topic", NAMESPACE, NAME);
    level("credential_profile", NAMESPACE, CREDENTIAL, inNamespace("credentials/profiles"));
    level("credential_identity", NAMESPACE, CREDENTIAL, inNamespace("credentials/identities"));
    level("program", "application", "[a-z]+\\.[$.a-zA-Z0-9_-]+",
        Listing.of("/v3/namespaces/{namespace}/apps/{application}", "type", "name").in("programs"));
    level("schedule", "application", DATASET, inNamespace("apps/{application}/schedules"));
    level("stream_view", "stream", NAME, inNamespace("streams/{stream}/views"));
  }

  private final String name;
  private final String parent;
  private final Pattern names;
  private final List<Listing> listings;

  private Level(String name, String parent, String names, List<Listing> listings) {
    this.name = name;
    this.parent = parent;
    this.names = Pattern.compile(names);
    this.listings = listings;
  }

  /** The level of that name, null if the definition has none. */
  static Level get(String name) {
    return BY_NAME.get(name);
  }

  /** Its name. */
  String name() {
    return name;
  }

  /** The level that it is within, null for the instance. */
  Level parent() {
    return BY_NAME.get(parent);
  }

  /** Whether an entity of this level can have the name. */
  boolean accepts(String entity) {
    return entity.length() <= LONGEST_NAME && names.matcher(entity).matches();
  }

  /** The lists that together have its names. */
  List<Listing> listings() {
    return listings;
  }

  private static Listing inNamespace(String path) {
    return Listing.of("/v3/namespaces/{namespace}/" + path, "name");
  }

  private static void level(String name, String parent, String names, Listing... listings) {
    List<Listing> all = Collections.unmodifiableList(Arrays.asList(listings));
    BY_NAME.put(name, new Level(name, parent, names, all));
  }
}
