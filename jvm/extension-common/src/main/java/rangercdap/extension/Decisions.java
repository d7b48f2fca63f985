package rangercdap.extension;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/** Answers CDAP's checks by asking the service, or from what it allowed a moment ago. */
final class Decisions {

  private static final int BATCH = 1_000;

  private final AllowedAnswers remembered;
  private final DecisionService service;

  Decisions(Settings settings, boolean records, LongSupplier nanoTime) {
    this.remembered = new AllowedAnswers(settings.cacheSeconds(), settings.cacheEntries(), nanoTime);
    this.service = new DecisionService(settings, records, nanoTime, remembered::seen);
  }

  /** The service that is asked. */
  DecisionService service() {
    return service;
  }

  /** Whether what the question describes is allowed; the stamp goes along and is no part of what is remembered. */
  Answer enforce(Map<String, Object> question, Stamp stamp) throws ServiceFailure {
    if (remembered.holds(question)) {
      return Answer.allowed();
    }
    long asked = remembered.now();
    Map<String, Object> stamped = new LinkedHashMap<>(question);
    stamped.put("check", stamp.fields());
    return answer(question, asked, service.ask("cdap/v1/enforce", stamped));
  }

  /** Which of the entities the principal may see, in their order. */
  List<Boolean> visible(Map<String, Object> principal, List<Map<String, Object>> entities) throws ServiceFailure {
    List<Boolean> visible = new ArrayList<>();
    List<Integer> unknown = new ArrayList<>();
    for (Map<String, Object> entity : entities) {
      boolean known = remembered.holds(sight(principal, entity));
      if (!known) {
        unknown.add(visible.size());
      }
      visible.add(known);
    }
    for (int start = 0; start < unknown.size(); start += BATCH) {
      ask(principal, entities, unknown.subList(start, Math.min(start + BATCH, unknown.size())), visible);
    }
    return visible;
  }

  private Answer answer(Map<String, Object> question, long asked, Fields answer) throws ServiceFailure {
    try {
      boolean allowed = answer.truth("allowed");
      boolean cacheable = answer.truth("cacheable");
      String generation = answer.text("generation");
      String reason = answer.text("reason");
      answer.truth("enforced");
      answer.texts("missing");
      remembered.seen(generation);
      if (!allowed) {
        return Answer.denied(reason);
      }
      if (cacheable) {
        remembered.remember(question, generation, asked);
      }
      return Answer.allowed();
    } catch (ServiceFailure e) {
      throw service.noted(e);
    }
  }

  private void ask(Map<String, Object> principal, List<Map<String, Object>> entities, List<Integer> places,
      List<Boolean> visible) throws ServiceFailure {
    List<Map<String, Object>> asking = new ArrayList<>();
    for (int place : places) {
      asking.add(entities.get(place));
    }
    Map<String, Object> question = new LinkedHashMap<>();
    question.put("principal", principal);
    question.put("entities", asking);
    long asked = remembered.now();
    Fields answer = service.ask("cdap/v1/visible", question);
    try {
      List<Boolean> seen = answer.truths("visible", places.size());
      boolean cacheable = answer.truth("cacheable");
      String generation = answer.text("generation");
      remembered.seen(generation);
      for (int i = 0; i < seen.size(); i++) {
        visible.set(places.get(i), seen.get(i));
        if (seen.get(i) && cacheable) {
          remembered.remember(sight(principal, asking.get(i)), generation, asked);
        }
      }
    } catch (ServiceFailure e) {
      throw service.noted(e);
    }
  }

  private static Object sight(Map<String, Object> principal, Map<String, Object> entity) {
    return Arrays.asList("visible", principal, entity);
  }
}
