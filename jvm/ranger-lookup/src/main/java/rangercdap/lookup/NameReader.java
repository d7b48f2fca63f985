package rangercdap.lookup;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Reads names out of a JSON answer as it comes, and keeps nothing else of it. */
final class NameReader {

  private static final JsonFactory JSON = new JsonFactory().disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES);
  private static final String NEXT_PAGE = "nextPageToken";
  private static final int MOST_NAMES = 50_000;

  private final Listing listing;
  private final JsonParser json;
  private final List<String> names = new ArrayList<>();
  private String nextPage = "";

  private NameReader(Listing listing, JsonParser json) {
    this.listing = listing;
    this.json = json;
  }

  /** The names of a list, or of one page of it. */
  static Page read(Listing listing, InputStream content) throws IOException {
    try (JsonParser json = JSON.createParser(content)) {
      NameReader reader = new NameReader(listing, json);
      reader.readAnswer();
      return new Page(reader.names, reader.nextPage);
    }
  }

  /** A text field of an object, an empty text if it has none. */
  static String field(String name, InputStream content) throws IOException {
    try (JsonParser json = JSON.createParser(content)) {
      Map<String, String> row = new HashMap<>();
      if (json.nextToken() == JsonToken.START_OBJECT) {
        new NameReader(Listing.single("", name), json).readFields("", row);
      }
      return row.getOrDefault(name, "");
    }
  }

  private void readAnswer() throws IOException {
    JsonToken first = json.nextToken();
    if (first == JsonToken.START_ARRAY) {
      readRows();
    } else if (first == JsonToken.START_OBJECT && listing.isSingle()) {
      readRow();
    } else if (first == JsonToken.START_OBJECT && listing.rows().isEmpty()) {
      readKeys();
    } else if (first == JsonToken.START_OBJECT) {
      readWrapper();
    } else {
      throw unusable();
    }
  }

  private void readWrapper() throws IOException {
    boolean found = false;
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String name = json.getCurrentName();
      JsonToken value = json.nextToken();
      if (name.equals(listing.rows()) && value == JsonToken.START_ARRAY) {
        found = true;
        readRows();
      } else if (name.equals(NEXT_PAGE) && value == JsonToken.VALUE_STRING) {
        nextPage = json.getText();
      } else {
        json.skipChildren();
      }
    }
    if (!found) {
      throw unusable();
    }
  }

  private void readKeys() throws IOException {
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      add(json.getCurrentName());
      json.nextToken();
      json.skipChildren();
    }
  }

  private void readRows() throws IOException {
    for (JsonToken row = json.nextToken(); row != JsonToken.END_ARRAY; row = json.nextToken()) {
      if (row == JsonToken.START_OBJECT) {
        readRow();
      } else if (row == JsonToken.VALUE_STRING) {
        add(json.getText());
      } else {
        throw unusable();
      }
    }
  }

  private void readRow() throws IOException {
    Map<String, String> row = new HashMap<>();
    readFields("", row);
    List<String> parts = new ArrayList<>();
    for (String field : listing.fields()) {
      String part = row.get(field);
      if (part == null) {
        return; // such as a namespace without a principal
      }
      parts.add(field.equals("type") ? part.toLowerCase(Locale.ROOT) : part);
    }
    add(String.join(".", parts));
  }

  /** Collect the texts of the object's fields that are looked for, also those one level down. */
  private void readFields(String prefix, Map<String, String> row) throws IOException {
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String name = prefix + json.getCurrentName();
      JsonToken value = json.nextToken();
      if (value == JsonToken.VALUE_STRING && listing.fields().contains(name)) {
        row.put(name, json.getText());
      } else if (value == JsonToken.START_OBJECT && prefix.isEmpty()) {
        readFields(name + ".", row);
      } else {
        json.skipChildren();
      }
    }
  }

  private void add(String name) throws IOException {
    if (names.size() == MOST_NAMES) {
      throw new UnusableAnswer("it has too many names");
    }
    names.add(name);
  }

  private static UnusableAnswer unusable() {
    return new UnusableAnswer("it has no list of names");
  }
}
