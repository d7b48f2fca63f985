package rangercdap.extension;

import java.util.concurrent.ThreadFactory;

/** Makes the few threads of this extension, which never keep CDAP's master from stopping. */
final class Daemons implements ThreadFactory {

  private final String task;

  Daemons(String task) {
    this.task = task;
  }

  @Override
  public Thread newThread(Runnable runnable) {
    Thread thread = new Thread(runnable, "ranger-cdap-" + task);
    thread.setDaemon(true);
    return thread;
  }
}
