package rangercdap.lookup;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The time that one call of Ranger has. The work is done by a thread of ours, so Ranger's only one for all services is
 * free at the deadline, whatever the work waits for: a name server, a handshake, an answer that comes byte by byte.
 */
final class Deadline {

  private static final int MOST_THREADS = 8;
  private static final ThreadPoolExecutor WORKERS =
      new ThreadPoolExecutor(0, MOST_THREADS, 10, TimeUnit.SECONDS, new SynchronousQueue<>(), Deadline::thread);

  private final int milliseconds;
  private final long at;
  private Runnable open;
  private boolean over;

  /** So long after {@code began}, a time of {@code System.nanoTime}. */
  Deadline(long began, int milliseconds) {
    this.milliseconds = milliseconds;
    this.at = began + TimeUnit.MILLISECONDS.toNanos(milliseconds);
  }

  /** The result of the work; what is late is a failure, and its request is aborted. */
  <T> T within(Callable<T> work) throws LookupFailure {
    Future<T> result;
    try {
      result = WORKERS.submit(work);
    } catch (RejectedExecutionException e) {
      throw LookupFailure.down(LookupConfig.URL, "is still asked by earlier look-ups; try again later");
    }
    try {
      return result.get(at - System.nanoTime(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      throw late();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw late();
    } catch (ExecutionException e) {
      throw failure(e.getCause());
    } finally {
      result.cancel(true);
      end();
    }
  }

  /** The milliseconds until then, at least 1. */
  int left() throws LookupFailure {
    long left = TimeUnit.NANOSECONDS.toMillis(at - System.nanoTime());
    if (left <= 0 || Thread.currentThread().isInterrupted()) {
      throw late();
    }
    return (int) left;
  }

  /** That CDAP was too slow. */
  LookupFailure late() {
    return LookupFailure.down(LookupConfig.URL, "gave no answer within " + milliseconds + " ms");
  }

  /** What ends a request is done at the deadline, unless the request has ended before. */
  synchronized void watch(Runnable abort) throws LookupFailure {
    if (over) {
      throw late();
    }
    open = abort;
  }

  /** The request has ended. */
  synchronized void release() {
    open = null;
  }

  private synchronized void end() {
    over = true;
    if (open != null) {
      thread(open).start(); // closing TLS may wait for the other side
      open = null;
    }
  }

  private static LookupFailure failure(Throwable cause) {
    return cause instanceof LookupFailure ? (LookupFailure) cause
        : LookupFailure.of(LookupConfig.URL, "cannot be used: " + cause.getClass().getSimpleName());
  }

  private static Thread thread(Runnable work) {
    Thread thread = new Thread(work, "ranger-cdap-lookup");
    thread.setDaemon(true);
    return thread;
  }
}
