package rangercdap.lookup;

/** CDAPs that gave no answer a moment ago: they are not asked again at once, which keeps Ranger's only thread free. */
final class Outages {

  private static final int SECONDS = 3;
  private static final int MOST = 32;
  private static final Recent<LookupConfig, LookupFailure> KNOWN = new Recent<>(SECONDS, MOST);

  private Outages() {}

  /** Fail as the last time if that was a moment ago. */
  static void check(LookupConfig config) throws LookupFailure {
    LookupFailure last = KNOWN.get(config);
    if (last != null) {
      throw last;
    }
  }

  /** Note why there was no answer. */
  static void note(LookupConfig config, LookupFailure failure) {
    if (failure.isDown()) {
      KNOWN.put(config, failure, 1);
    }
  }

  /** Note that there was one. */
  static void end(LookupConfig config) {
    KNOWN.remove(config);
  }
}
