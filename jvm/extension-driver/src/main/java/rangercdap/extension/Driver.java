package rangercdap.extension;

import io.cdap.cdap.api.common.HttpErrorStatusProvider;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** Reads a command a line, as a JSON object, and writes what came of it as one line. */
public final class Driver {

  private Driver() {}

  /** Until the input ends. */
  public static void main(String[] args) throws IOException {
    PrintStream out = new PrintStream(System.out, true, "UTF-8");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    Commands commands = new Commands();
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      out.println(Json.write(result(commands, line)));
    }
  }

  private static Map<String, Object> result(Commands commands, String line) {
    Map<String, Object> result = new LinkedHashMap<>();
    try {
      commands.run(Json.read(line), result);
    } catch (Exception e) {
      result.clear();
      result.put("error", e.getClass().getSimpleName());
      result.put("text", String.valueOf(e.getMessage()));
      if (e instanceof HttpErrorStatusProvider) {
        result.put("status", ((HttpErrorStatusProvider) e).getStatusCode());
      }
    }
    return result;
  }
}
