import java.util.Arrays;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.GroupMappingServiceProvider;
import org.apache.hadoop.util.ReflectionUtils;

/** Prints the groups that Hadoop's mapping of a core-site.xml finds, a line of tab-separated names per user. */
public final class GroupJudge {
  public static void main(String[] arguments) throws Exception {
    for (String file : arguments[0].split(",")) {
      Configuration conf = new Configuration(true);
      conf.addResource(new Path(file));
      GroupMappingServiceProvider mapping =
          ReflectionUtils.newInstance(
              conf.getClass("hadoop.security.group.mapping", null, GroupMappingServiceProvider.class), conf);
      for (String user : Arrays.copyOfRange(arguments, 1, arguments.length)) {
        System.out.println("groups\t" + String.join("\t", new TreeSet<>(mapping.getGroupsSet(user))));
      }
    }
  }
}
