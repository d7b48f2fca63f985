package rangercdap.cdap;

import io.cdap.cdap.common.app.MainClassLoader;
import java.io.PrintStream;

/** Starts CDAP under its own class loader, which writes the authorization checks into CDAP's classes. */
public final class Main {

  private Main() {}

  public static void main(String[] args) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err);
    MainClassLoader loader = MainClassLoader.createFromContext();
    Thread.currentThread().setContextClassLoader(loader);
    loader.loadClass("rangercdap.cdap.InMemoryCdap").getMethod("serve", PrintStream.class).invoke(null, answers);
    System.exit(0); // CDAP leaves threads behind
  }
}
