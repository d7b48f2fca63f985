package rangercdap.lookup;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Arrays;
import java.util.Collection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.apache.http.client.HttpClient;

/** Clients by whom they trust: the authorities of Java, or those in one file, which is read when it has changed. */
final class Trust {

  private static final int LONGEST_FILE = 1 << 20;
  private static final int SECONDS = 3_600;
  private static final int MOST_FILES = 32;
  private static final Recent<String, Trust> KNOWN = new Recent<>(SECONDS, MOST_FILES);

  private final byte[] content;
  private final HttpClient client;

  private Trust(byte[] content, HttpClient client) {
    this.content = content;
    this.client = client;
  }

  /** The client for a file with authorities, or an empty text. */
  static HttpClient client(String file) throws LookupFailure {
    try {
      byte[] content = file.isEmpty() ? new byte[0] : content(file);
      Trust known = KNOWN.get(file);
      if (known == null || !Arrays.equals(known.content, content)) {
        known = new Trust(content, Http.client(file.isEmpty() ? SSLContext.getDefault() : context(content)));
        KNOWN.put(file, known, 1);
      }
      return known.client;
    } catch (GeneralSecurityException | InvalidPathException | IOException e) {
      throw LookupFailure.of(LookupConfig.CA_FILE, "names a file on the host of Ranger Admin that cannot be used: "
          + (e instanceof GeneralSecurityException ? "it must hold certificates in PEM form"
          : e.getClass().getSimpleName()));
    }
  }

  private static byte[] content(String file) throws IOException, LookupFailure {
    Path path = Paths.get(file);
    if (!Files.isRegularFile(path) || Files.size(path) > LONGEST_FILE) {
      throw LookupFailure.of(LookupConfig.CA_FILE, "must be the path of a file with certificates on the host of Ranger "
          + "Admin");
    }
    return Files.readAllBytes(path);
  }

  private static SSLContext context(byte[] content) throws GeneralSecurityException, IOException {
    Collection<? extends Certificate> certificates =
        CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(content));
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    for (Certificate certificate : certificates) {
      store.setCertificateEntry("authority-" + store.size(), certificate);
    }
    if (store.size() == 0) {
      throw new GeneralSecurityException("no certificate");
    }
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return context;
  }
}
