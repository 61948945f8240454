import java.util.Arrays;

/** How many nanoseconds each of many took. */
final class Times {
    private long[] all = new long[1 << 10];
    private int count;

    void add(long nanoseconds) {
        if (count == all.length) {
            all = Arrays.copyOf(all, 2 * count);
        }
        all[count++] = nanoseconds;
    }

    int count() {
        return count;
    }

    double median() {
        Arrays.sort(all, 0, count);
        return (all[(count - 1) / 2] + all[count / 2]) / 2.0;
    }

    /** So many out of a thousand are less, or as much. */
    double least(int part) {
        Arrays.sort(all, 0, count);
        return all[(int) ((long) count * part / 1000)];
    }

    static double secondsSince(long begun) {
        return 1e-9 * (System.nanoTime() - begun);
    }
}
