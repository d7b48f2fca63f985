package rangercdap.extension;

import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Whether the service has introduced itself since it was away; a lasting failure is logged once a minute. */
final class Reachability {

  private static final Logger LOG = LoggerFactory.getLogger(Reachability.class);
  private static final long BETWEEN_LOGS = TimeUnit.MINUTES.toNanos(1);
  private static final long BETWEEN_INTRODUCTIONS = TimeUnit.SECONDS.toNanos(10);

  private final LongSupplier nanoTime;
  private boolean introduced;
  private String lastFailure = "";
  private long loggedAt;
  private long unlogged;
  private long triedAt;
  private boolean tried;

  Reachability(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
  }

  /** A call has failed. */
  synchronized void failed(ServiceFailure failure) {
    if (failure.isAway() && introduced) {
      introduced = false;
      tried = false;
    }
    long now = nanoTime.getAsLong();
    if (failure.getMessage().equals(lastFailure) && now - loggedAt < BETWEEN_LOGS) {
      unlogged++;
      return;
    }
    LOG.warn("{} {} [{} times more since the last line]", failure.sentence(), failure.detail(), unlogged);
    lastFailure = failure.getMessage();
    loggedAt = now;
    unlogged = 0;
  }

  /** A call was not made, because of the failures before; the log counts it with them. */
  synchronized void notAsked() {
    unlogged++;
  }

  /** Whether the caller is the one to ask the service, which has just answered, to introduce itself. */
  synchronized boolean introductionIsDue() {
    long now = nanoTime.getAsLong();
    if (introduced || tried && now - triedAt < BETWEEN_INTRODUCTIONS) {
      return false;
    }
    tried = true;
    triedAt = now;
    return true;
  }

  /** The service has introduced itself. */
  synchronized void introduced() {
    introduced = true;
    lastFailure = "";
  }
}
