package rangercdap.lookup;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/** The content of an answer up to a size. Closing it does nothing: that would read what is beyond. */
final class BoundedContent extends FilterInputStream {

  private long left;

  BoundedContent(InputStream content, long size) {
    super(content);
    this.left = size;
  }

  @Override
  public int read() throws IOException {
    int one = super.read();
    count(one < 0 ? 0 : 1);
    return one;
  }

  @Override
  public int read(byte[] buffer, int offset, int length) throws IOException {
    int n = super.read(buffer, offset, length);
    count(n);
    return n;
  }

  @Override
  public void close() {}

  /** Read the rest, after which the connection is used again; an answer without an end is none. */
  void readToTheEnd() throws IOException {
    byte[] buffer = new byte[8 << 10];
    while (read(buffer) >= 0) {
      // only to the end
    }
  }

  private void count(int n) throws IOException {
    left -= Math.max(0, n);
    if (left < 0) {
      throw new UnusableAnswer("it is too long");
    }
  }
}
