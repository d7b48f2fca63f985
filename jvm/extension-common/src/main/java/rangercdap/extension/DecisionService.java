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
  private final Reachability reachability;
  private final Consumer<String> generations;

  DecisionService(Settings settings, LongSupplier nanoTime, Consumer<String> generations) {
    this.http = new HttpService(settings.url(), settings.connectTimeout(), settings.readTimeout());
    this.enforce = settings.enforce();
    this.introduction = introduction(settings);
    this.reachability = new Reachability(nanoTime);
    this.generations = generations;
  }

  /** The answer to a question about permissions. */
  Fields ask(String path, Map<String, Object> question) throws ServiceFailure {
    return ask(path, enforce, question);
  }

  /** The answer to a question of somebody with another role. */
  Fields ask(String path, Credentials credentials, Map<String, Object> question) throws ServiceFailure {
    Fields answer;
    try {
      answer = http.post(path, credentials, question);
    } catch (ServiceFailure e) {
      throw noted(e);
    }
    introduce();
    return answer;
  }

  /** The failure, after it has been noted that the service gave an answer that cannot be used. */
  ServiceFailure noted(ServiceFailure failure) {
    reachability.failed(failure);
    return failure;
  }

  /** Ask who is there, if that is not known; a failure is logged only, as everything is denied until there is one. */
  void introduce() {
    if (!reachability.introductionIsDue()) {
      return;
    }
    try {
      Fields hello = http.post("cdap/v1/hello", enforce, introduction);
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

  private static Map<String, Object> introduction(Settings settings) {
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
    return json;
  }
}
