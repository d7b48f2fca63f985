package rangercdap;

import java.util.Collections;
import java.util.List;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.http.HttpServerTransport;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

/**
 * One node on loopback, until standard input ends.
 *
 * <p>Argument: a directory for its data. Prints the port of its REST API.
 */
public final class OpensearchNode extends Node {

  private OpensearchNode(Environment environment) {
    super(environment, List.of(Netty4Plugin.class), false);
  }

  public static void main(String[] arguments) throws Exception {
    Settings settings = Settings.builder()
        .put("path.home", arguments[0])
        .put("cluster.name", "audits")
        .put("discovery.type", "single-node")
        .put("network.host", "127.0.0.1")
        .put("http.type", "netty4")
        .put("http.port", "0")
        .put("transport.type", "netty4")
        .put("transport.port", "0")
        // How full the disk of the tests is says nothing.
        .put("cluster.routing.allocation.disk.threshold_enabled", false)
        .build();
    Node node = new OpensearchNode(
        InternalSettingsPreparer.prepareEnvironment(settings, Collections.emptyMap(), null, () -> "node"));
    node.start();
    HttpServerTransport http = node.injector().getInstance(HttpServerTransport.class);
    System.out.println(http.boundAddress().publishAddress().getPort());
    while (System.in.read() != -1) {
      // What is written is not for us.
    }
    System.exit(0);
  }
}
