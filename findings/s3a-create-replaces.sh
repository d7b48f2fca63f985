#!/bin/sh
# Packages: hadoop-aws and hadoop-client-runtime 3.5.0 and modules of the AWS SDK 2.35.4, of Maven Central; moto 5.2.1 of PyPI as the S3
# server, which has conditional writes. Needs Java 17 and Maven.
# Behaviour: S3A says that it can create on condition (`fs.option.create.conditional.overwrite`), and `create(path, false)` does not use it:
# two clients create one file, both close without an error, and the later one replaces the earlier. With `createFile` and `must` on that
# option the second `close` fails.
# Why it surprises: `overwrite=false` is exclusive on HDFS and on local disk, and the store could make it so.
# What it means: whatever takes a file by `create(path, false)` on S3, as a log store that numbers its commits does, loses an acknowledged
# write without an error as soon as there is a second writer, also where that one writes on condition.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
cd "$folder"
cat > pom.xml <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>finding</groupId><artifactId>finding</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-client-runtime</artifactId><version>3.5.0</version></dependency>
    <dependency><groupId>org.apache.commons</groupId><artifactId>commons-lang3</artifactId><version>3.19.0</version></dependency>
    <dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-aws</artifactId><version>3.5.0</version>
      <exclusions><exclusion><groupId>software.amazon.awssdk</groupId><artifactId>bundle</artifactId></exclusion></exclusions></dependency>
    <dependency><groupId>software.amazon.awssdk</groupId><artifactId>s3</artifactId><version>2.35.4</version></dependency>
    <dependency><groupId>software.amazon.awssdk</groupId><artifactId>s3-transfer-manager</artifactId><version>2.35.4</version></dependency>
    <dependency><groupId>software.amazon.awssdk</groupId><artifactId>sts</artifactId><version>2.35.4</version></dependency>
    <dependency><groupId>software.amazon.awssdk</groupId><artifactId>apache-client</artifactId><version>2.35.4</version></dependency>
    <dependency><groupId>software.amazon.awssdk</groupId><artifactId>netty-nio-client</artifactId><version>2.35.4</version></dependency>
  </dependencies>
</project>
XML
mvn -q -B dependency:copy-dependencies -DoutputDirectory=jars
python3 -m venv venv
venv/bin/pip -q install 'moto[server]==5.2.1'
cat > Two.java <<'JAVA'
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.*;

class Two {
  static FSDataOutputStream exclusive(FileSystem store, Path path) throws Exception {
    FSDataOutputStreamBuilder<?, ?> builder = store.createFile(path).overwrite(false);
    builder.must("fs.option.create.conditional.overwrite", true);
    return (FSDataOutputStream) builder.build();
  }

  public static void main(String[] arguments) throws Exception {
    Configuration settings = new Configuration();
    settings.set("fs.s3a.endpoint", arguments[0]);
    settings.set("fs.s3a.endpoint.region", "us-east-1");
    settings.set("fs.s3a.path.style.access", "true");
    settings.set("fs.s3a.connection.ssl.enabled", "false");
    settings.set("fs.s3a.access.key", "test");
    settings.set("fs.s3a.secret.key", "test");
    settings.set("fs.s3a.aws.credentials.provider", "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider");
    try (FileSystem store = FileSystem.newInstance(URI.create("s3a://bucket/"), settings)) {
      store.mkdirs(new Path("/"));
      Path path = new Path("/log/00000000000000000001.json");
      System.out.println(store.hasPathCapability(path, "fs.option.create.conditional.overwrite"));
      FSDataOutputStream first = store.create(path, false), second = store.create(path, false);
      first.writeBytes("first");
      second.writeBytes("second");
      first.close();
      second.close();
      try (FSDataInputStream read = store.open(path)) {
        System.out.println(new String(read.readAllBytes()));
      }
      Path other = new Path("/log/00000000000000000002.json");
      FSDataOutputStream third = exclusive(store, other);
      FSDataOutputStream fourth = exclusive(store, other);
      third.writeBytes("third");
      fourth.writeBytes("fourth");
      third.close();
      try {
        fourth.close();
        System.out.println("closed");
      } catch (java.io.IOException e) {
        System.out.println(e.getClass().getSimpleName());
      }
    }
  }
}
JAVA
port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
venv/bin/moto_server -H 127.0.0.1 -p "$port" > server.log 2>&1 &
server=$!
venv/bin/python - "http://127.0.0.1:$port/bucket" <<'PY'
import sys, time, urllib.request

for _ in range(100):
    try:
        urllib.request.urlopen(urllib.request.Request(sys.argv[1], method="PUT"), timeout=5).close()
        break
    except OSError:
        time.sleep(0.2)
PY
java -cp 'jars/*' Two.java "http://127.0.0.1:$port" 2> java.log | tee seen
printf 'true\nsecond\nRemoteFileChangedException\n' | diff - seen
