import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The attribute key and values of the benchmarks. */
final class Payload {
    /** 16 bytes, one object for all. */
    static final byte[] KEY = "attribute-key-01".getBytes(StandardCharsets.US_ASCII);

    /** 16 bytes, one object for all. */
    static final byte[] SHORT_VALUE = "sixteen-byte-val".getBytes(StandardCharsets.US_ASCII);

    private static final VarHandle INT =
        MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    private static final byte[] FILLING = new byte[100];

    static {
        // In front are two numbers of eight bytes each, of which the upper four stay zero.
        Arrays.fill(FILLING, 16, FILLING.length, (byte) 0x76);
    }

    private Payload() {}

    /** 100 bytes of its own: whose value it is, which of its values it is, and filling. */
    static byte[] value(int number, int stamp) {
        byte[] bytes = FILLING.clone();
        INT.set(bytes, 0, number);
        INT.set(bytes, 8, stamp);
        return bytes;
    }

    static int number(byte[] value) {
        return (int) INT.get(value, 0);
    }

    static int stamp(byte[] value) {
        return (int) INT.get(value, 8);
    }
}
