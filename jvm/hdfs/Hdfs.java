import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/**
 * HDFS on loopback, in a directory: prints its address, and ends with its input. Each line of it restarts the
 * NameNode.
 */
public class Hdfs {
  public static void main(String[] arguments) throws Exception {
    Configuration configuration = new HdfsConfiguration();
    configuration.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, arguments[0]);
    MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration).numDataNodes(1).build();
    System.out.println(cluster.getURI());
    while (true) {
      int read = System.in.read();
      if (read < 0) {
        cluster.shutdown();
        System.exit(0);
      }
      if (read == '\n') {
        cluster.restartNameNode(true);
        System.out.println(cluster.getURI());
      }
    }
  }
}
