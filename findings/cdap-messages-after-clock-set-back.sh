#!/bin/sh
# Package: io.cdap.cdap:cdap-tms 6.11.1, from Maven Central: the messaging service of CDAP, with its tables in LevelDB.
# Behaviour: a message that is published after the clock of CDAP's host was set back is never given to a subscriber that goes on
# after the last message it has. Not even when the clock is again where it was: only messages published from then on are.
# Why it surprises: publishing succeeds, the topic has the message, and a subscriber that begins anew gets it, before the others.
# Its id begins with its time, and ids are the order.
# What it means: whatever CDAP keeps up to date by its own topics misses what happened in that time: audit records and the audit
# log's writers, metadata, program states. Whoever waits for a record of each request must count such a request as lost.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > pom.xml <<'XML'
<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>a</artifactId><version>1</version>
<dependencies><dependency><groupId>io.cdap.cdap</groupId><artifactId>cdap-tms</artifactId>
<version>6.11.1</version></dependency></dependencies></project>
XML
cat > Subscriber.java <<'JAVA'
package io.cdap.cdap.messaging.service;

import io.cdap.cdap.api.dataset.lib.CloseableIterator;
import io.cdap.cdap.common.conf.CConfiguration;
import io.cdap.cdap.common.metrics.NoOpMetricsCollectionService;
import io.cdap.cdap.messaging.DefaultMessageFetchRequest;
import io.cdap.cdap.messaging.DefaultTopicMetadata;
import io.cdap.cdap.messaging.client.StoreRequestBuilder;
import io.cdap.cdap.messaging.spi.RawMessage;
import io.cdap.cdap.messaging.store.leveldb.LevelDBTableFactory;
import io.cdap.cdap.proto.id.NamespaceId;
import io.cdap.cdap.proto.id.TopicId;
import java.util.concurrent.atomic.AtomicLong;

public class Subscriber {
  static final TopicId TOPIC = NamespaceId.SYSTEM.topic("example");
  static CoreMessagingService service;
  static byte[] last;

  static String fetched(byte[] after) throws Exception {
    DefaultMessageFetchRequest.Builder request = new DefaultMessageFetchRequest.Builder().setTopicId(TOPIC);
    if (after != null) {
      request.setStartMessage(after, false);
    }
    StringBuilder found = new StringBuilder();
    try (CloseableIterator<RawMessage> messages = service.fetch(request.build())) {
      while (messages.hasNext()) {
        RawMessage message = messages.next();
        found.append(found.length() == 0 ? "" : " ").append(new String(message.getPayload(), "UTF-8"));
        if (after != null || last == null) {
          last = message.getId();
        }
      }
    }
    return found.length() == 0 ? "nothing" : found.toString();
  }

  static void publish(String text) throws Exception {
    service.publish(StoreRequestBuilder.of(TOPIC).addPayload(text).build());
  }

  public static void main(String[] arguments) throws Exception {
    CConfiguration settings = CConfiguration.create();
    settings.set("local.data.dir", arguments[0]);
    settings.set("messaging.system.topics", "");
    AtomicLong clock = new AtomicLong(System.currentTimeMillis());
    service = new CoreMessagingService(
        settings, new LevelDBTableFactory(settings), clock::incrementAndGet, new NoOpMetricsCollectionService());
    service.startAndWait();
    service.createTopic(new DefaultTopicMetadata(TOPIC, "ttl", Integer.toString(86400)));
    publish("first");
    System.out.println("first fetch: " + fetched(null));
    clock.addAndGet(-120_000);
    publish("set-back");
    System.out.println("set back by two minutes: " + fetched(last));
    clock.addAndGet(180_000);
    System.out.println("three minutes later: " + fetched(last));
    publish("later");
    System.out.println("after one more: " + fetched(last));
    System.out.println("from the beginning: " + fetched(null));
    service.stopAndWait();
    System.exit(0);
  }
}
JAVA
mvn -q -B dependency:build-classpath -Dmdep.outputFile=classpath >/dev/null
javac -nowarn -cp "$(cat classpath)" -d classes Subscriber.java
found=$(java -cp "classes:$(cat classpath)" io.cdap.cdap.messaging.service.Subscriber "$folder/data" 2>/dev/null | grep -v " INFO ")
echo "$found"
[ "$found" = "first fetch: first
set back by two minutes: nothing
three minutes later: nothing
after one more: later
from the beginning: set-back first later" ]
