package rangercdap.extension;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The decision service as this extension knows it: it asks, and has it introduce itself whenever it was away. */
final class DecisionService {

  private static final Logger LOG = LoggerFactory.getLogger(DecisionService.class);

  private final HttpService http;
  private final Credentials enforce;
  private final Map<String, Object> introduction;
  private final Circuit circuit;
  private final Reachability reachability;
  private final Consumer<String> generations;

  DecisionService(Settings settings, boolean records, LongSupplier nanoTime, Consumer<String> generations) {
    this.http = new HttpService(settings.url(), settings.tls(), settings.connectTimeout(),
        settings.readTimeout());
    this.enforce = settings.enforce();
    this.introduction = introduction(settings, records);
    this.circuit = new Circuit(nanoTime);
    this.reachability = new Reachability(nanoTime);
    this.generations = generations;
  }

  /** The answer to a question about permissions. */
  Fields ask(String path, Map<String, Object> question) throws ServiceFailure {
    return ask(path, enforce, question);
  }

  /** The answer to a question of somebody with another role; a service that is not worth asking is not asked. */
  Fields ask(String path, Credentials credentials, Map<String, Object> question) throws ServiceFailure {
    byte[] body = HttpService.encoded(question);
    Deadline deadline = http.deadline();
    long turn = entered();
    String failure = "an error in the extension";
    Fields answer;
    try {
      answer = post(path, credentials, body, deadline);
      failure = null;
    } catch (ServiceFailure e) {
      failure = e.isAnswer() ? null : e.getMessage();
      throw e;
    } finally {
      circuit.left(turn, failure);
    }
    introduce(deadline);
    return answer;
  }

  /** The answer to what CDAP repeats until it is taken: always sent, and nothing that users wait for depends on it. */
  Fields tell(String path, Credentials credentials, Map<String, Object> message) throws ServiceFailure {
    Deadline deadline = http.deadline();
    Fields answer = post(path, credentials, HttpService.encoded(message), deadline);
    introduce(deadline);
    return answer;
  }

  /** The failure, after it has been noted that the service gave an answer that cannot be used. */
  ServiceFailure noted(ServiceFailure failure) {
    reachability.failed(failure);
    return failure;
  }

  /** Ask who is there, if that is not known; a failure is logged only, as everything is denied until there is one. */
  void introduce() {
    introduce(http.deadline());
  }

  private void introduce(Deadline deadline) {
    if (!reachability.introductionIsDue()) {
      return;
    }
    try {
      Fields hello = http.post("cdap/v1/hello", enforce, HttpService.encoded(introduction), deadline);
      LOG.info("the authorization service of CDAP is there: version {}, instance {}, profile {}, {}, policies {}, "
          + "grants {}", hello.text("version"), hello.text("instance"), hello.text("profile"),
          hello.text("enforcement"), hello.text("state"), hello.text("grants"));
      for (String difference : hello.texts("differences")) {
        LOG.warn("the authorization service of CDAP is set up otherwise than CDAP: {}", difference);
      }
      generations.accept(hello.text("generation"));
      reachability.introduced();
    } catch (ServiceFailure e) {
      reachability.failed(e);
    }
  }

  private Fields post(String path, Credentials credentials, byte[] body, Deadline deadline) throws ServiceFailure {
    try {
      return http.post(path, credentials, body, deadline);
    } catch (ServiceFailure e) {
      throw noted(e);
    }
  }

  private long entered() throws ServiceFailure {
    try {
      return circuit.enter();
    } catch (ServiceFailure e) {
      reachability.notAsked();
      throw e;
    }
  }

  private static Map<String, Object> introduction(Settings settings, boolean records) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("extension", Versions.extension());
    if (!Versions.cdap().isEmpty()) {
      json.put("cdap", Versions.cdap());
    }
    json.put("instance", settings.instance());
    if (!settings.masterUser().isEmpty()) {
      json.put("master_user", settings.masterUser());
    }
    if (!settings.adminUsers().isEmpty()) {
      json.put("admin_users", settings.adminUsers());
    }
    json.put("records", records);
    return json;
  }
}
