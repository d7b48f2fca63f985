package rangercdap.lookup;

import java.util.Collections;
import java.util.List;

/** Names that CDAP lists, and the token of the next page, empty if there is none. */
final class Page {

  /** What the account may not see, or this CDAP does not have. */
  static final Page EMPTY = new Page(Collections.emptyList(), "");

  private final List<String> names;
  private final String next;

  Page(List<String> names, String next) {
    this.names = Collections.unmodifiableList(names);
    this.next = next;
  }

  /** The names, as CDAP has them. */
  List<String> names() {
    return names;
  }

  /** The token of the next page. */
  String next() {
    return next;
  }
}
