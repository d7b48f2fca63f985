package rangercdap.app;

import io.cdap.cdap.api.annotation.UseDataSet;
import io.cdap.cdap.api.common.Bytes;
import io.cdap.cdap.api.dataset.lib.KeyValueTable;
import io.cdap.cdap.api.service.http.AbstractHttpServiceHandler;
import io.cdap.cdap.api.service.http.HttpServiceRequest;
import io.cdap.cdap.api.service.http.HttpServiceResponder;
import javax.ws.rs.GET;
import javax.ws.rs.Path;
import javax.ws.rs.PathParam;

/** Answers with what the dataset holds under a name. */
public class PricesHandler extends AbstractHttpServiceHandler {

  @UseDataSet("purchases")
  private KeyValueTable purchases;

  @GET
  @Path("prices/{name}")
  public void price(HttpServiceRequest request, HttpServiceResponder responder, @PathParam("name") String name) {
    byte[] price = purchases.read(Bytes.toBytes(name));
    if (price == null) {
      responder.sendStatus(404);
    } else {
      responder.sendString(Bytes.toString(price));
    }
  }
}
