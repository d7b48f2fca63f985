package rangercdap.extension;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocketFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How connections to an https service are encrypted: whom Java trusts is trusted, and a client certificate is shown
 * where the settings name one.
 *
 * <p>Certificate and key are read again when a file changes. Files that cannot be used leave those read before in use.
 */
final class ClientTls {

  private static final Logger LOG = LoggerFactory.getLogger(ClientTls.class);
  private static final String ALERT = "Received fatal alert: ";

  private final String setting;
  private final KeyPairFiles files;
  private final WatchedFiles watched;
  private volatile SSLSocketFactory factory;

  /** {@code files} is null where no certificate is shown; {@code setting} is the one that names it, or would. */
  ClientTls(String setting, KeyPairFiles files) {
    this.setting = setting;
    this.files = files;
    this.watched = files == null ? null : new WatchedFiles(files.paths());
    this.factory = files == null ? null : read(files);
  }

  /** What makes new connections, by what the files held a second ago at most. */
  SSLSocketFactory factory() {
    if (files == null) {
      return (SSLSocketFactory) SSLSocketFactory.getDefault();
    }
    watched.ifChanged(this::readAgain);
    return factory;
  }

  /** Why there is no answer, if the other side has refused our part of TLS; null if it has not. */
  String refusal(IOException failure) {
    if (!(failure instanceof SSLException) || !String.valueOf(failure.getMessage()).startsWith(ALERT)) {
      return null;
    }
    return "it refused the TLS connection; " + (files == null
        ? "if it requires a client certificate, set " + setting
        : "the certificate of " + setting + " must be valid, for clients, and of an authority in "
        + "service.tls_client_ca");
  }

  private void readAgain() {
    try {
      factory = read(files);
      LOG.info("{} has changed and was reloaded", setting);
    } catch (BadSetting e) {
      LOG.warn("{}; the previous certificate stays in use", e.getMessage());
    }
  }

  /** A context of its own each time, so no session of the certificate before is resumed. */
  private static SSLSocketFactory read(KeyPairFiles files) {
    List<Certificate> chain = files.chain();
    PrivateKey key = files.key(chain.get(0).getPublicKey());
    char[] password = new char[0];
    try {
      KeyStore store = KeyStore.getInstance("JKS");
      store.load(null, password);
      store.setKeyEntry("client", key, password, chain.toArray(new Certificate[0]));
      KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      keys.init(store, password);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(keys.getKeyManagers(), null, null);
      return context.getSocketFactory();
    } catch (GeneralSecurityException | IOException e) {
      throw files.unusable("Java cannot use it (" + e.getClass().getSimpleName() + ")");
    }
  }
}
