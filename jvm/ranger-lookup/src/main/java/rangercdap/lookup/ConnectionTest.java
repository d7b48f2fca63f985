package rangercdap.lookup;


/** What Test Connection finds out: CDAP is reachable, the account can sign in, and it may see something. */
final class ConnectionTest {

  private final LookupConfig config;
  private final Cdap cdap;

  ConnectionTest(LookupConfig config, Cdap cdap) {
    this.config = config;
    this.cdap = cdap;
  }

  /** The sentence about a connection that works. */
  String run() throws LookupFailure {
    config.instance();
    config.lookupTimeout();
    String version = cdap.get("/v3/version", content -> NameReader.field("version", content));
    if (version == null || !version.matches("[0-9A-Za-z.-]{1,50}")) {
      throw LookupFailure.of(LookupConfig.URL, "is not the address of CDAP: GET /v3/version names no version");
    }
    Level namespace = Level.get("namespace");
    Listing all = namespace.listings().get(0);
    Page page = cdap.get(all.path(), content -> NameReader.read(all, content));
    if (page == null) {
      throw LookupFailure.of(LookupConfig.URL, "is not the address of CDAP: it lists no namespaces");
    }
    long visible = page.names().stream().filter(namespace::accepts).count();
    if (visible == 0) {
      throw LookupFailure.of(LookupConfig.USER, "names an account that sees no namespace, so no names can be offered; "
          + "grant it read on the namespaces");
    }
    String account = config.user().isEmpty() ? "" : " to " + config.user();
    return "CDAP " + version + " shows " + visible + " namespace" + (visible == 1 ? "" : "s") + account;
  }
}
