package rangercdap.lookup;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.TreeSet;

/** What is offered: names that match, without those already chosen, in order, at most some hundreds. */
final class Offer {

  private static final int MOST = 500;

  private final Level level;
  private final Glob wanted;
  private final Collection<String> chosen;
  private final TreeSet<String> names = new TreeSet<>();
  private boolean answered;

  Offer(Level level, Glob wanted, Collection<String> chosen) {
    this.level = level;
    this.wanted = wanted;
    this.chosen = new HashSet<>(chosen);
  }

  /** Add what CDAP lists. */
  synchronized void add(Collection<String> listed) {
    answered = true;
    for (String name : listed) {
      if (Thread.currentThread().isInterrupted()) {
        return; // late, and matching many names with what was typed may take long
      }
      if (level.accepts(name) && !chosen.contains(name) && isMeant(name)) {
        names.add(name);
        if (names.size() > MOST) {
          names.pollLast();
        }
      }
    }
  }

  /** Whether there are as many names as are offered. */
  synchronized boolean isFull() {
    return names.size() >= MOST;
  }

  /** Whether CDAP has answered at all, so that what there is may be offered although not all has come. */
  synchronized boolean isAnswered() {
    return answered;
  }

  /** The names. */
  synchronized List<String> names() {
    return new ArrayList<>(names);
  }

  /** A program may be typed by its name as well, without its type. */
  private boolean isMeant(String name) {
    return wanted.matches(name)
        || level.name().equals("program") && wanted.matches(name.substring(name.indexOf('.') + 1));
  }
}
