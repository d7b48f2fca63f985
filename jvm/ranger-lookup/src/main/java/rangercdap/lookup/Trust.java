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
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;

/** Which certificates are trusted: those of Java, or those of the authorities in one file, read when it has changed. */
final class Trust {

  private static final int LONGEST_FILE = 1 << 20;
  private static volatile Trust last = new Trust("", new byte[0], null);

  private final String file;
  private final byte[] content;
  private final SSLSocketFactory factory;

  private Trust(String file, byte[] content, SSLSocketFactory factory) {
    this.file = file;
    this.content = content;
    this.factory = factory;
  }

  /** What makes encrypted connections; the same one while the file is the same, so that they are kept open. */
  static SSLSocketFactory factory(String file) throws LookupFailure {
    try {
      if (file.isEmpty()) {
        return SSLContext.getDefault().getSocketFactory();
      }
      byte[] content = content(file);
      Trust known = last;
      if (!known.file.equals(file) || !Arrays.equals(known.content, content)) {
        known = new Trust(file, content, factory(content));
        last = known;
      }
      return known.factory;
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

  private static SSLSocketFactory factory(byte[] content) throws GeneralSecurityException, IOException {
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
    return context.getSocketFactory();
  }
}
