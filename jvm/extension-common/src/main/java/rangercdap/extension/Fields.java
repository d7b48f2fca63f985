package rangercdap.extension;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The fields of an answer: one that is missing or of another type makes the answer unusable. */
final class Fields {

  private static final int LONGEST_TEXT = 4_000;

  private final Map<?, ?> fields;

  Fields(Map<?, ?> fields) {
    this.fields = fields;
  }

  /** A truth value. */
  boolean truth(String name) throws ServiceFailure {
    return get(name, Boolean.class);
  }

  /** A number of things. */
  int count(String name) throws ServiceFailure {
    double number = get(name, Double.class);
    if (number != Math.rint(number) || number < 0 || number > Integer.MAX_VALUE) {
      throw wrong(name);
    }
    return (int) number;
  }

  /** A text, without what moves the cursor or the eye, and not longer than a person reads. */
  String text(String name) throws ServiceFailure {
    return readable(get(name, String.class));
  }

  /** A list of texts. */
  List<String> texts(String name) throws ServiceFailure {
    List<String> texts = new ArrayList<>();
    for (Object item : get(name, List.class)) {
      if (!(item instanceof String)) {
        throw wrong(name);
      }
      texts.add(readable((String) item));
    }
    return texts;
  }

  /** As many truth values as were asked for. */
  List<Boolean> truths(String name, int count) throws ServiceFailure {
    List<Boolean> truths = new ArrayList<>();
    for (Object item : get(name, List.class)) {
      if (!(item instanceof Boolean)) {
        throw wrong(name);
      }
      truths.add((Boolean) item);
    }
    if (truths.size() != count) {
      throw ServiceFailure.unusable("its answer has " + truths.size() + " values for " + count + " entities");
    }
    return truths;
  }

  /** A list of objects. */
  List<Fields> objects(String name) throws ServiceFailure {
    List<Fields> objects = new ArrayList<>();
    for (Object item : get(name, List.class)) {
      if (!(item instanceof Map)) {
        throw wrong(name);
      }
      objects.add(new Fields((Map<?, ?>) item));
    }
    return objects;
  }

  /** An object. */
  Fields object(String name) throws ServiceFailure {
    return new Fields(get(name, Map.class));
  }

  /** The text, fit for a log line and an error message. */
  static String readable(String text) {
    String clean = text.replaceAll("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]", " ");
    return clean.length() <= LONGEST_TEXT ? clean : clean.substring(0, LONGEST_TEXT);
  }

  private <T> T get(String name, Class<T> type) throws ServiceFailure {
    Object value = fields.get(name);
    if (!type.isInstance(value)) {
      throw wrong(name);
    }
    return type.cast(value);
  }

  private static ServiceFailure wrong(String name) {
    return ServiceFailure.unusable("its answer has no usable field " + name);
  }
}
