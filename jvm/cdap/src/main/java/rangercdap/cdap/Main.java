package rangercdap.cdap;

import io.cdap.cdap.common.app.MainClassLoader;

/** Starts CDAP under CDAP's own class loader, which writes the authorization checks into its classes as it loads them. */
public final class Main {

  private Main() {}

  public static void main(String[] args) throws Exception {
    MainClassLoader loader = MainClassLoader.createFromContext();
    Thread.currentThread().setContextClassLoader(loader);
    loader.loadClass("rangercdap.cdap.InMemoryCdap").getMethod("serve").invoke(null);
    System.exit(0); // CDAP leaves threads behind
  }
}
