package rangercdap.extension;

import io.cdap.cdap.api.common.HttpErrorStatusProvider;
import java.net.HttpURLConnection;

/** What CDAP answers with exactly this text, where its own way to refuse would lose it or look like a success. */
final class Refusal extends DeclaredException implements HttpErrorStatusProvider {

  private static final long serialVersionUID = 1L;

  private final int status;

  private Refusal(int status, String sentence) {
    super(sentence);
    this.status = status;
  }

  /** Somebody may not. */
  static Refusal forbidden(String sentence) {
    return new Refusal(HttpURLConnection.HTTP_FORBIDDEN, sentence);
  }

  /** Nobody can tell now. */
  static Refusal unavailable(ServiceFailure failure) {
    return new Refusal(HttpURLConnection.HTTP_UNAVAILABLE, failure.sentence());
  }

  @Override
  public int getStatusCode() {
    return status;
  }
}
