package rangercdap.lookup;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Values of the last seconds, of bounded weight together: what was not used for longest goes first. */
final class Recent<K, V> {

  private final long life;
  private final int heaviest;
  private final Map<K, Kept<V>> kept = new LinkedHashMap<>(16, 0.75f, true);
  private int weight;

  Recent(int seconds, int heaviest) {
    this.life = TimeUnit.SECONDS.toNanos(seconds);
    this.heaviest = heaviest;
  }

  /** The value, null if there is none that is recent. */
  synchronized V get(K key) {
    Kept<V> found = kept.get(key);
    if (found != null && System.nanoTime() - found.since >= life) {
      remove(key);
      return null;
    }
    return found == null ? null : found.value;
  }

  /** Keep a value unless it is too heavy. */
  synchronized void put(K key, V value, int weighs) {
    remove(key);
    if (weighs > heaviest) {
      return;
    }
    kept.put(key, new Kept<>(value, weighs));
    weight += weighs;
    for (Iterator<Kept<V>> oldest = kept.values().iterator(); weight > heaviest;) {
      weight -= oldest.next().weight;
      oldest.remove();
    }
  }

  /** Forget a value. */
  synchronized void remove(K key) {
    Kept<V> old = kept.remove(key);
    weight -= old == null ? 0 : old.weight;
  }

  private static final class Kept<V> {

    private final V value;
    private final int weight;
    private final long since = System.nanoTime();

    Kept(V value, int weight) {
      this.value = value;
      this.weight = weight;
    }
  }
}
