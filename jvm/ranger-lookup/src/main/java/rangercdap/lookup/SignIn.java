package rangercdap.lookup;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;

/**
 * How the account signs in: by a bearer token, or by user and password at CDAP's authentication server or, where CDAP
 * names none, at the proxy before it.
 *
 * <p>The password goes to the host of CDAP's own address only, or where {@code cdap.signin.url} says.
 */
final class SignIn {

  private static final int TOKEN_SECONDS = 600;
  private static final int MOST_ACCOUNTS = 32;
  private static final int LONGEST_TOKEN = 16_000;
  private static final Recent<LookupConfig, String> KNOWN = new Recent<>(TOKEN_SECONDS, MOST_ACCOUNTS);

  private final LookupConfig config;
  private final Http http;

  SignIn(LookupConfig config, Http http) {
    this.config = config;
    this.http = http;
  }

  /** The header of a request, null if none is known or needed yet. */
  String header() throws LookupFailure {
    if (config.user().isEmpty()) {
      String token = config.password();
      return token.isEmpty() ? null : "Bearer " + token;
    }
    return KNOWN.get(config);
  }

  /** The header to try after CDAP has refused a request that came with {@code refused}. */
  String header(String refused, List<String> announced) throws LookupFailure {
    KNOWN.remove(config);
    if (config.user().isEmpty()) {
      throw refused == null
          ? LookupFailure.of(LookupConfig.USER, "is not set, but CDAP requires a sign-in")
          : LookupFailure.of(LookupConfig.PASSWORD, "is not accepted by CDAP as a bearer token");
    }
    URL server = server(announced);
    String basic = "Basic " + Base64.getEncoder().encodeToString(
        (config.user() + ":" + config.password()).getBytes(StandardCharsets.UTF_8));
    if (server == null && basic.equals(refused)) {
      throw rejected();
    }
    String header = server == null ? basic : "Bearer " + token(server, basic);
    KNOWN.put(config, header, 1);
    return header;
  }

  /** That CDAP refused again what was just issued. */
  LookupFailure rejected() {
    KNOWN.remove(config);
    return LookupFailure.of(LookupConfig.PASSWORD, "or " + LookupConfig.USER + " is not accepted");
  }

  private URL server(List<String> announced) throws LookupFailure {
    URL configured = config.signInUrl();
    if (configured != null || announced.isEmpty()) {
      return configured;
    }
    URL cdap = config.url();
    for (String text : announced) {
      if (text.startsWith(cdap.getProtocol() + "://")) {
        URL server = config.address(LookupConfig.SIGN_IN_URL, text);
        if (server.getHost().equalsIgnoreCase(cdap.getHost())) {
          return server;
        }
      }
    }
    throw LookupFailure.of(LookupConfig.SIGN_IN_URL, "is not set, and CDAP names an authentication server on another "
        + "host or without https, which gets no password unless it is set here: "
        + LookupFailure.readable(announced.get(0)));
  }

  private String token(URL server, String basic) throws LookupFailure {
    return http.get(LookupConfig.SIGN_IN_URL, server, basic, SignIn::token);
  }

  private static String token(int status, InputStream content) throws IOException, LookupFailure {
    if (status == 401 || status == 403) {
      throw LookupFailure.of(LookupConfig.PASSWORD, "or " + LookupConfig.USER + " is not accepted by CDAP's "
          + "authentication server");
    }
    String token = status == 200 ? NameReader.field("access_token", content) : "";
    if (token.length() > LONGEST_TOKEN || !token.matches("[A-Za-z0-9._~+/=-]+")) {
      throw LookupFailure.of(LookupConfig.SIGN_IN_URL, "is not CDAP's authentication server: it issued no token (HTTP "
          + status + ")");
    }
    return token;
  }
}
