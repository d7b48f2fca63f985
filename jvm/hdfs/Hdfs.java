import java.io.OutputStream;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/**
 * HDFS and YARN on loopback, in a directory, which is the working directory too: prints HDFS's address when both
 * answer, and ends with its input. Each line of it restarts the NameNode. What clients of YARN need is in `conf`.
 */
public class Hdfs {
  public static void main(String[] arguments) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err);
    Configuration configuration = new HdfsConfiguration();
    configuration.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, arguments[0]);
    MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration).numDataNodes(1).build();
    configuration.set("fs.defaultFS", cluster.getURI().toString());
    startYarn(new YarnConfiguration(configuration), Path.of(arguments[0], "conf"));
    answers.println(cluster.getURI());
    while (true) {
      int read = System.in.read();
      if (read < 0) {
        System.exit(0);
      }
      if (read == '\n') {
        cluster.restartNameNode(true);
        answers.println(cluster.getURI());
      }
    }
  }

  private static void startYarn(YarnConfiguration configuration, Path clients) throws Exception {
    // Else it listens on the machine's address.
    configuration.setBoolean(YarnConfiguration.YARN_MINICLUSTER_FIXED_PORTS, true);
    for (String name : new String[] {"", "scheduler.", "resource-tracker.", "admin.", "webapp."}) {
      configuration.set("yarn.resourcemanager." + name + "address", "localhost:" + freePort());
    }
    for (String name : new String[] {"", "localizer.", "collector-service.", "webapp."}) {
      configuration.set("yarn.nodemanager." + name + "address", "localhost:0");
    }
    configuration.setBoolean(YarnConfiguration.NM_VMEM_CHECK_ENABLED, false);
    configuration.setFloat(YarnConfiguration.NM_MAX_PER_DISK_UTILIZATION_PERCENTAGE, 100);
    configuration.setInt(YarnConfiguration.YARN_MINICLUSTER_NM_PMEM_MB, 12_000);
    configuration.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 512);
    configuration.set("yarn.scheduler.capacity.root.queues", "default");
    configuration.set("yarn.scheduler.capacity.root.default.capacity", "100");
    configuration.set("yarn.scheduler.capacity.maximum-am-resource-percent", "0.8");
    MiniYARNCluster yarn = new MiniYARNCluster("yarn", 1, 1, 1);
    yarn.init(configuration);
    yarn.start();
    if (!yarn.waitForNodeManagersToConnect(60_000)) {
      throw new IllegalStateException("YARN has no node");
    }
    Configuration known = new Configuration(false);
    known.set("fs.defaultFS", configuration.get("fs.defaultFS"));
    yarn.getConfig().getPropsWithPrefix("yarn.resourcemanager.").forEach((name, value) -> {
      if (name.endsWith("address")) {
        known.set("yarn.resourcemanager." + name, value);
      }
    });
    Files.createDirectories(clients);
    for (String name : new String[] {"core-site.xml", "yarn-site.xml"}) {
      try (OutputStream file = Files.newOutputStream(clients.resolve(name))) {
        known.writeXml(file);
      }
    }
  }

  private static int freePort() throws Exception {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }
}
