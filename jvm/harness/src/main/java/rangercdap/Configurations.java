package rangercdap;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cdap.cdap.common.conf.CConfiguration;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Field;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.CompositeGroupsMapping;
import org.apache.hadoop.security.Groups;

/** What Hadoop's and CDAP's own classes read in XML files. */
final class Configurations {

  private Configurations() {}

  /** All properties of files that are read one after the other, without defaults and with variables as written. */
  static ObjectNode read(JsonNode command) throws IOException {
    JsonNode files = command.path("files");
    ObjectNode answer = Harness.JSON.createObjectNode();
    ObjectNode values = answer.putObject("values");
    if (command.path("reader").asText().equals("cdap")) {
      File[] more = new File[files.size() - 1];
      for (int n = 1; n < files.size(); n++) {
        more[n - 1] = new File(files.get(n).asText());
      }
      CConfiguration found = CConfiguration.create(new File(files.get(0).asText()), more);
      found.forEach(property -> values.put(property.getKey(), found.getRaw(property.getKey())));
    } else {
      Configuration found = new Configuration(false);
      files.forEach(file -> found.addResource(new Path(file.asText())));
      found.forEach(property -> values.put(property.getKey(), property.getValue()));
    }
    return answer;
  }

  /** The static groups of each user of a core-site.xml, and the classes of the providers that a composite has. */
  static ObjectNode groups(JsonNode command) throws ReflectiveOperationException {
    Configuration read = new Configuration(true);
    read.addResource(new Path(command.path("file").asText()));
    ObjectNode answer = Harness.JSON.createObjectNode();
    ObjectNode users = answer.putObject("static");
    AtomicReference<Map<String, Set<String>>> overrides = field(Groups.class, "staticMapRef", new Groups(read));
    if (overrides.get() != null) {
      overrides.get().forEach((user, groups) -> groups.forEach(users.putArray(user)::add));
    }
    ArrayNode classes = answer.putArray("providers");
    CompositeGroupsMapping composite = new CompositeGroupsMapping();
    composite.setConf(read);
    Collection<?> providers = field(CompositeGroupsMapping.class, "providersList", composite);
    providers.forEach(provider -> classes.add(provider.getClass().getName()));
    return answer;
  }

  @SuppressWarnings("unchecked")
  private static <T> T field(Class<?> of, String name, Object object) throws ReflectiveOperationException {
    Field field = of.getDeclaredField(name);
    field.setAccessible(true);
    return (T) field.get(object);
  }
}
