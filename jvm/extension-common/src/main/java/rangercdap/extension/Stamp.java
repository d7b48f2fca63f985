package rangercdap.extension;

import java.util.LinkedHashMap;
import java.util.Map;

/** What tells one check from every other: an id, the process that asked, and that process's clock before it asked. */
final class Stamp {

  private final String id;
  private final String process;
  private final long at;

  Stamp(String id, String process, long at) {
    this.id = id;
    this.process = process;
    this.at = at;
  }

  /** The fields of the stamp; {@code at} is in milliseconds since 1970. */
  Map<String, Object> fields() {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("id", id);
    json.put("process", process);
    json.put("at", at);
    return json;
  }
}
