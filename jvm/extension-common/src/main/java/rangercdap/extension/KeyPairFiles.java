package rangercdap.extension;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A certificate and its key in two PEM files, or in one; what they hold is never shown. */
final class KeyPairFiles {

  private static final int LONGEST = 100_000;
  private static final String BEGIN = "-----BEGIN ";
  private static final Pattern BLOCK = Pattern.compile(BEGIN + "([A-Z0-9 ]+)-----([^-]*)-----END \\1-----");
  private static final byte[] SAMPLE = "a certificate and its key".getBytes(StandardCharsets.US_ASCII);

  private final String certificateSetting;
  private final String certificateFile;
  private final String keySetting;
  private final String keyFile;

  /** The settings are the names that a complaint uses. */
  KeyPairFiles(String certificateSetting, String certificateFile, String keySetting, String keyFile) {
    this.certificateSetting = certificateSetting;
    this.certificateFile = certificateFile;
    this.keySetting = keySetting;
    this.keyFile = keyFile;
  }

  /** Where they are. */
  List<String> paths() {
    return Arrays.asList(certificateFile, keyFile);
  }

  /** The certificate, and those above it that the file holds, in their order. */
  List<Certificate> chain() {
    String content = SecretFile.content(certificateSetting, certificateFile, LONGEST, "a certificate");
    List<Certificate> chain = new ArrayList<>();
    try {
      CertificateFactory factory = CertificateFactory.getInstance("X.509");
      for (byte[] certificate : blocks(content, "CERTIFICATE")) {
        chain.add(factory.generateCertificate(new ByteArrayInputStream(certificate)));
      }
    } catch (GeneralSecurityException e) {
      chain.clear();
    }
    if (chain.isEmpty()) {
      throw unusable("it must hold a certificate in PEM form, and may hold its chain after it");
    }
    return chain;
  }

  /** The key, which belongs to the public one of the certificate. */
  PrivateKey key(PublicKey certified) {
    String algorithm = certified.getAlgorithm();
    if (!algorithm.equals("RSA") && !algorithm.equals("EC")) {
      throw unusable("its key must be one of RSA or EC, not " + algorithm);
    }
    List<byte[]> found = blocks(SecretFile.secretContent(keySetting, keyFile, LONGEST, "a key"), "PRIVATE KEY");
    if (found.size() != 1) {
      throw new BadSetting(keySetting + " names " + keyFile + ", which must hold one key in PEM form, as PKCS#8 and "
          + "not encrypted (openssl pkcs8 -topk8 -nodes)");
    }
    try {
      PrivateKey key = KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(found.get(0)));
      Signature signature = Signature.getInstance(algorithm.equals("EC") ? "SHA256withECDSA" : "SHA256withRSA");
      signature.initSign(key);
      signature.update(SAMPLE);
      byte[] signed = signature.sign();
      signature.initVerify(certified);
      signature.update(SAMPLE);
      if (signature.verify(signed)) {
        return key;
      }
    } catch (GeneralSecurityException e) {
      // said below: a key of another kind or length, or none at all
    }
    throw new BadSetting(keySetting + " names " + keyFile + ", which does not hold the key of the certificate that "
        + certificateSetting + " names");
  }

  /** The complaint about the certificate. */
  BadSetting unusable(String why) {
    return new BadSetting(certificateSetting + " names " + certificateFile + ", which cannot be used: " + why);
  }

  /** What the PEM blocks with that label hold; nothing if any block is cut off, as in a file that is half written. */
  private static List<byte[]> blocks(String content, String label) {
    List<byte[]> blocks = new ArrayList<>();
    int begun = content.split(BEGIN, -1).length - 1;
    try {
      for (Matcher block = BLOCK.matcher(content); block.find(); begun--) {
        if (block.group(1).equals(label)) {
          blocks.add(Base64.getMimeDecoder().decode(block.group(2)));
        }
      }
    } catch (IllegalArgumentException e) {
      blocks.clear();
    }
    return begun == 0 ? blocks : Collections.<byte[]>emptyList();
  }
}
