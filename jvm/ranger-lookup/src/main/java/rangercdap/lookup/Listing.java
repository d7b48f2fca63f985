package rangercdap.lookup;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * Where CDAP's REST API lists the names of a level, and where they are in the answer.
 *
 * <p>A list is an array of objects or texts, or an object whose keys are the names; {@code rows} is the field that
 * holds it where it is not the whole answer. A name is the texts of {@code fields} joined by dots; a dot in a field
 * leads into an object.
 */
final class Listing {

  private final String path;
  private final List<String> fields;
  private final String rows;
  private final boolean single;
  private final boolean paged;

  private Listing(String path, List<String> fields, String rows, boolean single, boolean paged) {
    this.path = path;
    this.fields = fields;
    this.rows = rows;
    this.single = single;
    this.paged = paged;
  }

  /** A list with the names in these fields. */
  static Listing of(String path, String... fields) {
    return new Listing(path, Collections.unmodifiableList(Arrays.asList(fields)), "", false, false);
  }

  /** An object, whose name alone is the list. */
  static Listing single(String path, String... fields) {
    return new Listing(path, Collections.unmodifiableList(Arrays.asList(fields)), "", true, false);
  }

  /** The same list in a field of the answer. */
  Listing in(String field) {
    return new Listing(path, fields, field, single, paged);
  }

  /** The same list, in pages where CDAP has them (6.6 and later), narrowed to names that hold a text. */
  Listing paged() {
    return new Listing(path, fields, rows, single, true);
  }

  /** The path, with the names of levels in braces. */
  String path() {
    return path;
  }

  /** The fields of a row that make its name. */
  List<String> fields() {
    return fields;
  }

  /** The field that holds the list, or an empty text. */
  String rows() {
    return rows;
  }

  /** Whether the answer is itself the only row. */
  boolean isSingle() {
    return single;
  }

  /** Whether CDAP may send it in pages. */
  boolean isPaged() {
    return paged;
  }
}
