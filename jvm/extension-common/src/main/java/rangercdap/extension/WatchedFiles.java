package rangercdap.extension;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Whether files have changed, for what is read again without a restart: looks once a second at most. */
final class WatchedFiles {

  private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final List<String> files;
  private volatile List<Object> stamps;
  private volatile long lookedAt = System.nanoTime();

  /** What is read after this counts as read. */
  WatchedFiles(List<String> files) {
    this.files = files;
    this.stamps = stamps();
  }

  /** Have them read again if one has changed since; several threads may read the same change. */
  void ifChanged(Runnable read) {
    long now = System.nanoTime();
    if (now - lookedAt < LOOK_NANOS) {
      return;
    }
    lookedAt = now;
    List<Object> found = stamps();
    if (!found.equals(stamps)) {
      read.run();
      stamps = found;
    }
  }

  private List<Object> stamps() {
    List<Object> stamps = new ArrayList<>();
    for (String file : files) {
      try {
        BasicFileAttributes found = Files.readAttributes(Paths.get(file), BasicFileAttributes.class);
        Collections.addAll(stamps, found.fileKey(), found.size(), found.lastModifiedTime());
      } catch (IOException | IllegalArgumentException e) {
        stamps.add("not there");
      }
    }
    return stamps;
  }
}
