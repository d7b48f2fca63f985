package rangercdap.app;

import io.cdap.cdap.api.app.AbstractApplication;
import io.cdap.cdap.api.dataset.lib.KeyValueTable;

/** What the tests deploy, start and stop: a dataset, a worker that writes it, a service that reads it. */
public class PurchasesApp extends AbstractApplication {

  @Override
  public void configure() {
    setName("Purchases");
    createDataset("purchases", KeyValueTable.class);
    addWorker(new Recorder());
    addService("Prices", new PricesHandler());
  }
}
