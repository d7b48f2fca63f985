package rangercdap.lookup;

import java.io.UnsupportedEncodingException;
import java.net.URLEncoder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;

/** Finds the names of a level within what was chosen for the levels above it. */
final class Lookup {

  // A value with a wildcard stands for many; each costs a request.
  private static final int MOST_PARENTS = 20;
  private static final int PAGE = 500;
  private static final int CACHE_SECONDS = 5;
  private static final int MOST_CACHED_NAMES = 100_000;
  private static final Recent<List<Object>, Page> CACHE = new Recent<>(CACHE_SECONDS, MOST_CACHED_NAMES);

  private final LookupConfig config;
  private final Cdap cdap;
  private final Map<String, ? extends Collection<String>> chosen;

  Lookup(LookupConfig config, Cdap cdap, Map<String, ? extends Collection<String>> chosen) {
    this.config = config;
    this.cdap = cdap;
    this.chosen = chosen;
  }

  /** Offer all names of the level that what was typed can mean. */
  void find(Level level, String input, Offer offer) throws LookupFailure {
    if (level.parent() == null) {
      offer.add(Collections.singleton(config.instance()));
      return;
    }
    for (Map<String, String> parent : parents(level.parent())) {
      list(level, parent, Glob.literal(input), offer);
    }
  }

  /** The entities that the values chosen for a level stand for, by the names of their levels. */
  private List<Map<String, String>> parents(Level level) throws LookupFailure {
    Collection<String> values = values(level);
    if (level.parent() == null) {
      String instance = config.instance();
      boolean isMeant = values.isEmpty() || values.stream().anyMatch(v -> Glob.ofValue(v).matches(instance));
      return isMeant ? Collections.singletonList(Collections.emptyMap()) : Collections.emptyList();
    }
    List<Map<String, String>> found = new ArrayList<>();
    for (Map<String, String> parent : values.isEmpty() ? Collections.<Map<String, String>>emptyList()
        : parents(level.parent())) {
      for (String name : named(level, values, parent)) {
        Map<String, String> names = new HashMap<>(parent);
        names.put(level.name(), name);
        found.add(names);
        if (found.size() == MOST_PARENTS) {
          return found;
        }
      }
    }
    return found;
  }

  private Collection<String> named(Level level, Collection<String> values, Map<String, String> parent)
      throws LookupFailure {
    Collection<String> names = new LinkedHashSet<>();
    for (String value : values) {
      if (Glob.isPattern(value)) {
        Offer matching = new Offer(level, Glob.ofValue(value), Collections.emptyList());
        list(level, parent, Glob.literal(value), matching);
        names.addAll(matching.names());
      } else if (level.accepts(value)) {
        names.add(value);
      }
    }
    return names;
  }

  private Collection<String> values(Level level) {
    Collection<String> values = chosen.get(level.name());
    return values == null ? Collections.emptyList() : values;
  }

  private void list(Level level, Map<String, String> parent, String part, Offer offer) throws LookupFailure {
    for (Listing listing : level.listings()) {
      String path = path(listing, parent);
      if (listing.isPaged()) {
        path += "?pageSize=" + PAGE + (part.isEmpty() ? "" : "&nameFilter=" + encoded(part));
      }
      listPages(listing, path, offer);
    }
  }

  private void listPages(Listing listing, String path, Offer offer) throws LookupFailure {
    Collection<String> tokens = new HashSet<>();
    for (String token = ""; tokens.add(token) && !offer.isFull();) {
      Page page = page(listing, token.isEmpty() ? path : path + "&pageToken=" + encoded(token));
      offer.add(page.names());
      token = page.next();
    }
  }

  private Page page(Listing listing, String path) throws LookupFailure {
    cdap.checkTime();
    List<Object> key = Arrays.asList(config, listing, path);
    Page known = CACHE.get(key);
    if (known != null) {
      return known;
    }
    Outages.check(config);
    Page read = cdap.get(path, content -> NameReader.read(listing, content));
    Page page = read == null ? Page.EMPTY : read;
    CACHE.put(key, page, 1 + page.names().size());
    return page;
  }

  private static String path(Listing listing, Map<String, String> parent) {
    String path = listing.path().replace("{scope}", "system".equals(parent.get("namespace")) ? "system" : "user");
    for (Map.Entry<String, String> name : parent.entrySet()) {
      path = path.replace("{" + name.getKey() + "}", encoded(name.getValue()));
    }
    return path;
  }

  private static String encoded(String text) {
    try {
      return URLEncoder.encode(text, "UTF-8").replace("+", "%20");
    } catch (UnsupportedEncodingException e) {
      throw new IllegalStateException(e);
    }
  }
}
