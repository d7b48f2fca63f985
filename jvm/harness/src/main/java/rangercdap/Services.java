package rangercdap;

import static rangercdap.Harness.JSON;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.net.Authenticator;
import java.net.MalformedURLException;
import java.net.PasswordAuthentication;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.HttpsURLConnection;
import org.apache.ranger.plugin.model.RangerService;
import org.apache.ranger.plugin.model.RangerServiceDef;
import org.apache.ranger.plugin.service.RangerBaseService;
import org.apache.ranger.plugin.service.ResourceLookupContext;
import org.apache.ranger.plugin.util.PasswordUtils;

/**
 * Asks the class that a definition names, as Ranger Admin does: one loader for each folder of jars, a new object for
 * each call, that loader as the thread's while the call lasts, and one thread for all calls.
 */
final class Services {

  private static final Map<String, ClassLoader> LOADERS = new HashMap<>();
  // Ranger Admin starts more only when a hundred calls wait.
  private static final ExecutorService THREAD = Executors.newFixedThreadPool(1, work -> {
    Thread thread = new Thread(work, "timed-executor");
    thread.setDaemon(true);
    return thread;
  });

  static {
    // What another service of Ranger Admin's JVM may have set, and what is asked must not use.
    Authenticator.setDefault(new Authenticator() {
      @Override
      protected PasswordAuthentication getPasswordAuthentication() {
        return new PasswordAuthentication("jvm", "secret-of-the-jvm".toCharArray());
      }
    });
    HttpsURLConnection.setDefaultHostnameVerifier((host, session) -> true);
  }

  private Services() {}

  /**
   * The names of a look-up or the answer of Test Connection as "result", or "failure", and "ms", how long it took.
   * After "patience" milliseconds the call is interrupted, as Ranger Admin does.
   */
  static ObjectNode ask(JsonNode command) throws Exception {
    RangerServiceDef definition = JSON.treeToValue(command.path("definition"), RangerServiceDef.class);
    RangerService service = JSON.treeToValue(command.path("service"), RangerService.class);
    ResourceLookupContext context = JSON.treeToValue(command.get("lookup"), ResourceLookupContext.class);
    ClassLoader loader = LOADERS.computeIfAbsent(command.path("jars").asText(), Services::loader);
    RangerBaseService asked = loader.loadClass(definition.getImplClass()).asSubclass(RangerBaseService.class)
        .getDeclaredConstructor().newInstance();
    asked.init(definition, service);
    ObjectNode answer = JSON.createObjectNode();
    long began = System.nanoTime();
    Future<Object> result = THREAD.submit(() -> called(loader, asked, command.has("lookup"), context));
    try {
      answer.set("result", JSON.valueToTree(result.get(command.path("patience").asLong(), TimeUnit.MILLISECONDS)));
    } catch (ExecutionException failure) {
      answer.put("failure", failure.getMessage());
    } catch (TimeoutException late) {
      result.cancel(true);
      answer.put("failure", "Ranger Admin has waited too long");
    }
    THREAD.submit(() -> {}).get();
    return answer.put("ms", (System.nanoTime() - began) / 1e6);
  }

  private static Object called(ClassLoader loader, RangerBaseService asked, boolean looksUp,
      ResourceLookupContext context) throws Exception {
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    Thread.currentThread().setContextClassLoader(loader);
    try {
      return looksUp ? asked.lookupResource(context) : asked.validateConfig();
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
  }

  /** What Ranger Admin keeps of a password that it encrypts so, and gives to the class. */
  static ObjectNode encrypt(JsonNode command) throws Exception {
    String algorithm = command.path("algorithm").asText();
    String vector = PasswordUtils.generateIvIfNeeded(algorithm);
    String how = String.join(",", algorithm, PasswordUtils.DEFAULT_ENCRYPT_KEY, PasswordUtils.DEFAULT_SALT, "1000",
        vector == null ? "" : vector + ",").replaceFirst(",$", "");
    String encrypted = PasswordUtils.encryptPassword(how + "," + command.path("password").asText());
    return JSON.createObjectNode().put("encrypted", how + "," + encrypted);
  }

  private static ClassLoader loader(String folder) {
    try {
      File[] files = new File(folder).listFiles();
      URL[] urls = new URL[files == null ? 0 : files.length];
      for (int i = 0; i < urls.length; i++) {
        urls[i] = files[i].toURI().toURL();
      }
      return new URLClassLoader(urls, Thread.currentThread().getContextClassLoader());
    } catch (MalformedURLException e) {
      throw new IllegalArgumentException(e);
    }
  }
}
