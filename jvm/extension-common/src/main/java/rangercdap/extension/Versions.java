package rangercdap.extension;

import io.cdap.cdap.proto.security.Principal;
import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;

/** Which version of what is running. */
final class Versions {

  private Versions() {}

  /** This extension's. */
  static String extension() {
    return version(Versions.class.getClassLoader(), "rangercdap/extension/version.properties");
  }

  /** CDAP's; empty where its jars do not tell. */
  static String cdap() {
    return version(Principal.class.getClassLoader(), "META-INF/maven/io.cdap.cdap/cdap-proto/pom.properties");
  }

  private static String version(ClassLoader loader, String resource) {
    Properties properties = new Properties();
    try (InputStream in = loader.getResourceAsStream(resource)) {
      if (in != null) {
        properties.load(in);
      }
    } catch (IOException e) {
      return "";
    }
    return properties.getProperty("version", "");
  }
}
