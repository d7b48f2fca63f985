package rangercdap.lookup;

import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.ranger.plugin.client.BaseClient;
import org.apache.ranger.plugin.model.RangerServiceDef.RangerServiceConfigDef;
import org.apache.ranger.plugin.service.RangerBaseService;
import org.apache.ranger.plugin.service.ResourceLookupContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What Ranger Admin asks about a service of the type {@code cdap}: names for its policies, and Test Connection. */
public final class RangerServiceCdap extends RangerBaseService {

  private static final Logger LOG = LoggerFactory.getLogger(RangerServiceCdap.class);

  /** Ranger makes one for each call. */
  public RangerServiceCdap() {}

  /** Whether the configuration works; Ranger shows {@code description} and {@code message}, but no exception. */
  @Override
  public Map<String, Object> validateConfig() {
    long began = System.nanoTime();
    Map<String, Object> answer = new HashMap<>();
    LookupConfig config = new LookupConfig(configs);
    try {
      Deadline deadline = new Deadline(began, config.testTimeout());
      config.url();
      String found = deadline.within(() -> new ConnectionTest(config, new Cdap(config, deadline)).run());
      Outages.end(config);
      BaseClient.generateResponseDataMap(true, found, found, null, null, answer);
    } catch (LookupFailure failure) {
      String text = shown(failure).getMessage();
      LOG.warn("Test Connection of service {}: {}", serviceName, text);
      BaseClient.generateResponseDataMap(false, text, text, null, failure.field(), answer);
    }
    return answer;
  }

  /** The names to offer; none for a level that CDAP does not list, and none before the service says where CDAP is. */
  @Override
  public List<String> lookupResource(ResourceLookupContext context) throws Exception {
    long began = System.nanoTime();
    Level level = context == null ? null : Level.get(context.getResourceName());
    LookupConfig config = new LookupConfig(configs);
    if (level == null || level.parent() != null && !config.hasUrl()) {
      return Collections.emptyList();
    }
    Map<String, List<String>> chosen = context.getResources();
    Map<String, List<String>> values = chosen == null ? Collections.emptyMap() : chosen;
    Collection<String> own = values.getOrDefault(level.name(), Collections.emptyList());
    String input = context.getUserInput() == null ? "" : context.getUserInput();
    Offer offer = new Offer(level, Glob.ofInput(input), own == null ? Collections.emptyList() : own);
    try {
      Deadline deadline = new Deadline(began, config.lookupTimeout());
      Lookup lookup = new Lookup(config, new Cdap(config, deadline), values);
      deadline.within(() -> {
        lookup.find(level, input, offer);
        return true;
      });
    } catch (LookupFailure failure) {
      LookupFailure shown = shown(failure);
      LOG.warn("look-up of {} for service {}: {}", level.name(), serviceName, shown.getMessage());
      if (!offer.isAnswered()) {
        Outages.note(config, failure);
        throw shown;
      }
    }
    return offer.names();
  }

  private LookupFailure shown(LookupFailure failure) {
    for (RangerServiceConfigDef config : serviceDef.getConfigs()) {
      if (failure.field().equals(config.getName()) && config.getLabel() != null) {
        return failure.shown(config.getLabel());
      }
    }
    return failure.shown("the setting");
  }
}
