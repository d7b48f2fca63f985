package rangercdap.app;

import io.cdap.cdap.api.dataset.lib.KeyValueTable;
import io.cdap.cdap.api.worker.AbstractWorker;

/** Writes one purchase and ends. */
public class Recorder extends AbstractWorker {

  @Override
  public void run() {
    try {
      getContext().execute(datasets -> {
        KeyValueTable purchases = datasets.getDataset("purchases");
        purchases.write("apple", "1");
      });
    } catch (Exception refused) {
      throw new IllegalStateException(refused);
    }
  }
}
