#!/bin/sh
# Package: org.apache.hadoop:hadoop-common 3.4.2, from Maven Central.
# Behaviour: in a file of Hadoop's, a later empty element leaves an earlier value as it is: after `<value>one</value>`, a second
# property of that name with `<value/>` or `<value></value>` still reads `one`. The short form, `<property name="k" value=""/>`,
# empties it; and after the short form an empty element leaves the empty value.
# Why it surprises: the short form reads as the same thing in fewer letters, and otherwise the last one counts.
# What it means: a group mapping, a base of a directory or a list of administrators that somebody blanked out in a later file is
# still in effect, unless they happened to write the short form. A tool that reads such files must know all four cases.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > pom.xml <<'XML'
<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>a</artifactId><version>1</version>
<dependencies><dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-common</artifactId>
<version>3.4.2</version></dependency></dependencies></project>
XML
cat > Read.java <<'JAVA'
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;

public class Read {
  public static void main(String[] later) {
    for (String second : later) {
      String xml = "<configuration><property><name>k</name><value>one</value></property>" + second + "</configuration>";
      Configuration read = new Configuration(false);
      read.addResource(new ByteArrayInputStream(xml.getBytes(StandardCharsets.UTF_8)));
      System.out.print("[" + read.get("k") + "]");
    }
  }
}
JAVA
mvn -q -B dependency:build-classpath -Dmdep.outputFile=classpath >/dev/null
element='<property><name>k</name><value/></property>'
pair='<property><name>k</name><value></value></property>'
short='<property name="k" value=""/>'
found=$(java -cp "$(cat classpath)" Read.java "$element" "$pair" "$short" "$short$element" 2>/dev/null)
echo "after one: <value/>, <value></value>, value=\"\", value=\"\" and then <value/>: $found"
[ "$found" = "[one][one][][]" ]
