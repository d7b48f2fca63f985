package rangercdap.extension;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Remembers for seconds what was allowed, of one generation of the service only; what was denied is asked again. */
final class AllowedAnswers {

  private final long lifetime;
  private final int most;
  private final LongSupplier nanoTime;
  private final Map<Object, Long> askedAt;
  private volatile String generation = "";

  AllowedAnswers(int seconds, int most, LongSupplier nanoTime) {
    this.lifetime = TimeUnit.SECONDS.toNanos(seconds);
    this.most = most;
    this.nanoTime = nanoTime;
    this.askedAt = new LinkedHashMap<>();
  }

  /** The time that an answer's age is counted from. */
  long now() {
    return nanoTime.getAsLong();
  }

  /** Whether the question was allowed a moment ago. */
  boolean holds(Object question) {
    return !remembersNothing() && isAllowed(question);
  }

  private synchronized boolean isAllowed(Object question) {
    Long time = askedAt.get(question);
    if (time == null) {
      return false;
    }
    if (now() - time >= lifetime) {
      askedAt.remove(question);
      return false;
    }
    return true;
  }

  /** An answer of that generation has come: all of another one are forgotten. */
  void seen(String current) {
    if (!current.equals(generation)) {
      begin(current);
    }
  }

  private synchronized void begin(String current) {
    if (!current.equals(generation)) {
      askedAt.clear();
      generation = current;
    }
  }

  /** The question, asked at that time, was allowed in that generation. */
  synchronized void remember(Object question, String current, long asked) {
    if (remembersNothing() || !current.equals(generation)) {
      return;
    }
    askedAt.remove(question);
    askedAt.put(question, asked);
    if (askedAt.size() > most) {
      askedAt.remove(askedAt.keySet().iterator().next());
    }
  }

  private boolean remembersNothing() {
    return lifetime == 0 || most == 0;
  }
}
