package rangercdap.extension;

import java.util.function.Supplier;

/** The address of the user of CDAP's current request, only where the check is about that very user. */
final class ClientAddress {

  private final Supplier<String> user;
  private final Supplier<String> address;

  ClientAddress(Supplier<String> user, Supplier<String> address) {
    this.user = user;
    this.address = address;
  }

  /** The address, null where it is not known. */
  String of(String checked) {
    String current = address.get();
    return current == null || current.isEmpty() || !checked.equals(user.get()) ? null : current;
  }
}
