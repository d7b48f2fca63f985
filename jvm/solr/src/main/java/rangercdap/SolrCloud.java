package rangercdap;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import org.apache.solr.client.solrj.embedded.JettyConfig;
import org.apache.solr.client.solrj.embedded.JettySolrRunner;
import org.apache.solr.common.cloud.SolrZkClient;
import org.apache.solr.common.cloud.ZkConfigManager;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/**
 * Nodes of Solr, and the ZooKeeper they need, on loopback, until standard input ends.
 *
 * <p>Arguments: a directory for their data, the directory of the configuration that becomes the config set `audits`,
 * the number of nodes. Prints the ports of the nodes in one line, and one line for each command read: `stop N`,
 * `start N`.
 */
public final class SolrCloud {

  private static final String CHROOT = "/solr";

  private SolrCloud() {}

  public static void main(String[] arguments) throws Exception {
    Path data = Paths.get(arguments[0]);
    NIOServerCnxnFactory zooKeeper = startZooKeeper(data.resolve("zookeeper"));
    String address = "127.0.0.1:" + zooKeeper.getLocalPort();
    uploadConfiguration(address, Paths.get(arguments[1]));
    System.setProperty("zkHost", address + CHROOT);
    List<JettySolrRunner> nodes = new ArrayList<>();
    StringBuilder ports = new StringBuilder();
    for (int number = 0; number < Integer.parseInt(arguments[2]); number++) {
      nodes.add(startNode(data.resolve("node" + number)));
      ports.append(nodes.get(number).getLocalPort()).append(' ');
    }
    System.out.println(ports);
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      String[] words = line.split(" ");
      JettySolrRunner node = nodes.get(Integer.parseInt(words[1]));
      if (words[0].equals("stop")) {
        node.stop();
      } else {
        node.start();
      }
      System.out.println("done");
    }
    System.exit(0);
  }

  private static NIOServerCnxnFactory startZooKeeper(Path directory) throws Exception {
    Files.createDirectories(directory);
    NIOServerCnxnFactory factory = new NIOServerCnxnFactory();
    factory.configure(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 100);
    factory.startup(new ZooKeeperServer(directory.toFile(), directory.toFile(), 500));
    return factory;
  }

  private static void uploadConfiguration(String address, Path directory) throws Exception {
    try (SolrZkClient client = new SolrZkClient(address, 30_000)) {
      client.makePath(CHROOT, true);
    }
    try (SolrZkClient client = new SolrZkClient(address + CHROOT, 30_000)) {
      new ZkConfigManager(client).uploadConfigDir(directory, "audits");
    }
  }

  private static JettySolrRunner startNode(Path home) throws Exception {
    Files.createDirectories(home);
    Files.write(home.resolve("solr.xml"), ("<solr><solrcloud><str name=\"host\">127.0.0.1</str>"
        + "<int name=\"hostPort\">${hostPort:0}</int><str name=\"hostContext\">solr</str></solrcloud></solr>")
        .getBytes(StandardCharsets.UTF_8));
    JettyConfig config = JettyConfig.builder().setHost("127.0.0.1").setContext("/solr").setPort(0).build();
    JettySolrRunner node = new JettySolrRunner(home.toString(), config);
    node.start();
    return node;
  }
}
