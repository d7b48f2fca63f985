package rangercdap.extension;

import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import com.google.gson.stream.JsonWriter;
import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Writes and strictly reads JSON: one value, no field twice, not deeply nested. */
final class Json {

  private static final int DEEPEST = 16;

  private Json() {}

  /** The value as JSON text: text, numbers, truth values, lists and objects; a field without a value is left out. */
  static String write(Object value) {
    StringWriter text = new StringWriter();
    try {
      JsonWriter writer = new JsonWriter(text);
      writer.setSerializeNulls(false);
      write(writer, value);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a text is always written
    }
    return text.toString();
  }

  // Gson's own way looks every value's class up in one map that all threads wait for.
  private static void write(JsonWriter writer, Object value) throws IOException {
    if (value instanceof Map) {
      writer.beginObject();
      for (Map.Entry<?, ?> field : ((Map<?, ?>) value).entrySet()) {
        writer.name((String) field.getKey());
        write(writer, field.getValue());
      }
      writer.endObject();
    } else if (value instanceof Iterable) {
      writer.beginArray();
      for (Object each : (Iterable<?>) value) {
        write(writer, each);
      }
      writer.endArray();
    } else if (value instanceof String) {
      writer.value((String) value);
    } else if (value instanceof Number) {
      writer.value((Number) value);
    } else if (value instanceof Boolean) {
      writer.value((boolean) value);
    } else if (value == null) {
      writer.nullValue();
    } else {
      throw new IllegalArgumentException(value.getClass() + " is not JSON");
    }
  }

  /** The object that the text is, of text, numbers, truth values, lists and objects. */
  static Map<String, Object> read(String text) throws IOException {
    try (JsonReader reader = new JsonReader(new StringReader(text))) {
      if (reader.peek() != JsonToken.BEGIN_OBJECT) {
        throw new IOException("not an object");
      }
      Map<String, Object> object = object(reader, DEEPEST);
      if (reader.peek() != JsonToken.END_DOCUMENT) {
        throw new IOException("more than one value");
      }
      return object;
    } catch (IllegalStateException | NumberFormatException e) {
      throw new IOException("not JSON");
    }
  }

  private static Object value(JsonReader reader, int deeper) throws IOException {
    if (deeper == 0) {
      throw new IOException("too deeply nested");
    }
    switch (reader.peek()) {
      case BEGIN_OBJECT:
        return object(reader, deeper);
      case BEGIN_ARRAY:
        return list(reader, deeper);
      case STRING:
        return reader.nextString();
      case BOOLEAN:
        return reader.nextBoolean();
      case NUMBER:
        return reader.nextDouble();
      default:
        reader.nextNull();
        return null;
    }
  }

  private static Map<String, Object> object(JsonReader reader, int deeper) throws IOException {
    Map<String, Object> object = new LinkedHashMap<>();
    reader.beginObject();
    while (reader.hasNext()) {
      String name = reader.nextName();
      if (object.containsKey(name)) {
        throw new IOException("a field comes twice");
      }
      object.put(name, value(reader, deeper - 1));
    }
    reader.endObject();
    return object;
  }

  private static List<Object> list(JsonReader reader, int deeper) throws IOException {
    List<Object> list = new ArrayList<>();
    reader.beginArray();
    while (reader.hasNext()) {
      list.add(value(reader, deeper - 1));
    }
    reader.endArray();
    return list;
  }
}
