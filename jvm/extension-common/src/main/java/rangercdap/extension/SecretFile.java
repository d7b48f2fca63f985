package rangercdap.extension;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.Set;

/** Reads a secret from a file that its owner alone may read and write. */
final class SecretFile {

  private static final int LONGEST = 1_000;
  private static final Set<PosixFilePermission> OWNER =
      EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE);

  private SecretFile() {}

  /** The secret, without the line end after it; {@code setting} is the name that a complaint uses. */
  static String read(String setting, String file) {
    String secret = secretContent(setting, file, LONGEST, "a secret").replaceFirst("\r?\n$", "");
    if (secret.isEmpty() || secret.chars().anyMatch(Character::isISOControl)) {
      throw new BadSetting(setting + " names " + file + ", which must hold one line with the secret");
    }
    return secret;
  }

  /** All that a file holds which its owner alone may use; {@code kind} is what it should hold. */
  static String secretContent(String setting, String file, int longest, String kind) {
    return content(setting, file, longest, kind, true);
  }

  /** All that a file holds, which is for anyone. */
  static String content(String setting, String file, int longest, String kind) {
    return content(setting, file, longest, kind, false);
  }

  private static String content(String setting, String file, int longest, String kind, boolean secret) {
    try {
      Path path = Paths.get(file);
      if (!Files.isRegularFile(path)) {
        // Not shown: somebody may have set the secret itself.
        throw new BadSetting(setting + " does not name a file by its path");
      }
      if (secret) {
        checkMode(setting, file, Files.getPosixFilePermissions(path));
      }
      if (Files.size(path) > longest) {
        throw new BadSetting(setting + " names " + file + ", which is too long for " + kind);
      }
      return new String(Files.readAllBytes(path), StandardCharsets.UTF_8);
    } catch (UnsupportedOperationException e) {
      throw new BadSetting(setting + " names a file on a file system that does not say who may read it");
    } catch (InvalidPathException | IOException e) {
      throw new BadSetting(setting + " names a file that cannot be read (" + e.getClass().getSimpleName() + ")");
    }
  }

  private static void checkMode(String setting, String file, Set<PosixFilePermission> modes) {
    if (!OWNER.containsAll(modes)) {
      throw new BadSetting(setting + " names " + file + ", which has the mode " + PosixFilePermissions.toString(modes)
          + ": only its owner may read it (chmod 600)");
    }
  }
}
