import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** What {@code jungle-bench} does to ours: see its experiment {@code neighbours}. */
final class Work {
    static final String TREE = "leaves";
    static final String WARM = "warm";

    /** Leaves that are loaded in one commit. */
    private static final int COMMIT_LEAVES = 1_000;

    /** Commits of each task by one client, and by several; twice as many to warm up. */
    private static final int TASK_EDITS = 5;
    private static final int TASK_EDITS_TOGETHER = 20;

    /** Old revisions that are read, and compared with the one before, each twice. */
    private static final int OLD_READS = 2_000;
    private static final int DIFFS = 500;

    private final Options options;
    private final Store store;
    /** What the folder took before the commits that are counted. */
    private long before;
    private int wrong;

    private Work(Options options, Store store) {
        this.options = options;
        this.store = store;
    }

    interface Opening {
        Store open(Folder folder) throws Exception;
    }

    /** Measures a store that is made in a new folder, and ends the program. */
    static void main(String[] arguments, String name, String caseName, Opening opening)
            throws Exception {
        Options options = Options.parse(arguments);
        if (!options.caseName().equals(caseName)) {
            throw new IllegalArgumentException("there is no case " + options.caseName());
        }
        Work work;
        String line;
        try (Folder folder = Folder.make(name)) {
            Store store = opening.open(folder);
            work = new Work(options, store);
            try {
                line = work.measure(folder);
            } finally {
                store.close();
            }
            long allocated = folder.allocated();
            double growth = (double) Math.max(0, allocated - work.before) / work.edits();
            String rest = ",\"folder\":%d,\"growth\":%.3f,\"check\":\"%s\"}";
            line += String.format(Locale.ROOT, rest, allocated, growth, work.check());
        }
        System.out.println(line);
        System.exit(work.wrong == 0 ? 0 : 1);
    }

    private int edits() {
        return options.tasks() * (options.threads() == 1 ? TASK_EDITS : TASK_EDITS_TOGETHER);
    }

    private String check() {
        return wrong == 0 ? "ok" : wrong + " answers are wrong";
    }

    /** The line, but for its end. */
    private String measure(Folder folder) throws Exception {
        Edits edits = Edits.draw(options, edits());
        warmUp(Edits.draw(options, 2 * edits()));
        long begun = System.nanoTime();
        load(store, TREE, edits);
        double load = secondsSince(begun);
        before = folder.allocated();
        String[] revisions = new String[edits.leaves.length + 1];
        double[] times = new double[edits.leaves.length];
        double seconds = commit(TREE, edits, revisions, times);
        Arrays.sort(times);
        StringBuilder line = new StringBuilder(String.format(Locale.ROOT,
            "{\"case\":\"%s\",\"threads\":%d,\"seconds\":%.6f,\"operations\":%d,\"value\":%.3f,"
                + "\"unit\":\"1/s\",\"load\":%.3f,\"p50\":%.3f,\"p99\":%.3f",
            options.caseName(), options.threads(), seconds, edits.leaves.length,
            edits.leaves.length / seconds, edits.count / load,
            quantile(times, 50), quantile(times, 99)));
        try (Store.User user = store.user()) {
            if (options.threads() == 1) {
                tell(line, "read", read(user, TREE, edits, 2 * edits.leaves.length));
            }
            if (options.threads() == 1 && store.looksBack()) {
                readOld(user, edits, revisions);
                tell(line, "read-old", readOld(user, edits, revisions));
                diff(user, edits, revisions);
                tell(line, "diff", diff(user, edits, revisions));
            }
            return line.append(",\"checksum\":").append(checksum(user, edits)).toString();
        }
    }

    /**
     * All of it once before, in another tree, for a JVM is slow at first; and reads until the time
     * is over. More commits would make the folder larger than that of the others.
     */
    private void warmUp(Edits edits) throws Exception {
        long begun = System.nanoTime();
        load(store, WARM, edits);
        int count = edits.leaves.length;
        commit(WARM, edits, new String[count + 1], new double[count]);
        try (Store.User user = store.user()) {
            do {
                read(user, WARM, edits, count);
            } while (secondsSince(begun) < options.warmUp());
        }
    }

    static void load(Store store, String tree, Edits edits) throws Exception {
        try (Store.User user = store.user()) {
            for (int first = 0; first < edits.count; first += COMMIT_LEAVES) {
                user.load(tree, first, Math.min(first + COMMIT_LEAVES, edits.count));
            }
        }
    }

    /**
     * All edits, by all clients at once, each of which has leaves of its own. Gives the seconds;
     * the revisions are in order, from 1 on, if there is one client, and times in microseconds.
     */
    private double commit(String tree, Edits edits, String[] revisions, double[] times)
            throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(edits.clients);
        List<Callable<Void>> all = new ArrayList<>();
        List<Callable<Void>> ends = new ArrayList<>();
        try {
            for (int client = 0; client < edits.clients; client++) {
                int number = client;
                Store.User user = store.user();
                all.add(() -> commitSome(user, tree, edits, number, revisions, times));
                ends.add(() -> {
                    user.close();
                    return null;
                });
            }
            long begun = System.nanoTime();
            for (Future<Void> done : threads.invokeAll(all)) {
                done.get();
            }
            return secondsSince(begun);
        } finally {
            threads.invokeAll(ends);
            threads.shutdownNow();
        }
    }

    private static Void commitSome(
            Store.User user, String tree, Edits edits, int client, String[] revisions,
            double[] times) throws Exception {
        for (int at = 0; at < edits.leaves.length; at++) {
            int leaf = edits.leaves[at];
            if (leaf % edits.clients == client) {
                String value = Edits.value(leaf, at + 1);
                long begun = System.nanoTime();
                revisions[at + 1] = user.put(tree, leaf, value);
                times[at] = 1e6 * secondsSince(begun);
            }
        }
        return null;
    }

    /** Reads random leaves as they are now. Gives the microseconds of each. */
    private double[] read(Store.User user, String tree, Edits edits, int reads) throws Exception {
        Rng random = new Rng(~edits.seed);
        int[] held = edits.held();
        double[] times = new double[reads];
        for (int read = 0; read < reads; read++) {
            int leaf = random.below(edits.count);
            long begun = System.nanoTime();
            String found = user.read(tree, leaf, null);
            times[read] = 1e6 * secondsSince(begun);
            compare(found, Edits.value(leaf, held[leaf]));
        }
        return times;
    }

    /** Reads leaves that were edited, as they were after another random edit. */
    private double[] readOld(Store.User user, Edits edits, String[] revisions) throws Exception {
        Rng random = new Rng(~edits.seed);
        double[] times = new double[OLD_READS];
        for (int read = 0; read < OLD_READS; read++) {
            int leaf = edits.leaves[random.below(edits.leaves.length)];
            int at = random.below(edits.leaves.length);
            long begun = System.nanoTime();
            String found = user.read(TREE, leaf, revisions[at + 1]);
            times[read] = 1e6 * secondsSince(begun);
            compare(found, edits.valueAfter(leaf, at));
        }
        return times;
    }

    /** Compares revisions with the one before; the first has none that is known by name. */
    private double[] diff(Store.User user, Edits edits, String[] revisions) throws Exception {
        Rng random = new Rng(~edits.seed);
        double[] times = new double[DIFFS];
        for (int diff = 0; diff < DIFFS; diff++) {
            int at = 1 + random.below(edits.leaves.length - 1);
            int leaf = edits.leaves[at];
            String value = edits.valueAfter(leaf, at);
            long begun = System.nanoTime();
            boolean isIt = user.isChange(TREE, revisions[at], revisions[at + 1], leaf, value);
            times[diff] = 1e6 * secondsSince(begun);
            wrong += isIt ? 0 : 1;
        }
        return times;
    }

    /** One number for the values of all leaves, each of which is looked at. */
    private long checksum(Store.User user, Edits edits) throws Exception {
        int[] held = edits.held();
        int sum = 0;
        for (int leaf = 0; leaf < edits.count; leaf++) {
            String found = user.read(TREE, leaf, null);
            compare(found, Edits.value(leaf, held[leaf]));
            for (int at = 0; at < found.length(); at++) {
                sum = sum * 31 + found.charAt(at);
            }
        }
        return Integer.toUnsignedLong(sum);
    }

    private void compare(String found, String ought) {
        wrong += found.equals(ought) ? 0 : 1;
    }

    /** The least of these, which are in order, within which so many of 100 are. */
    private static double quantile(double[] sorted, int percent) {
        return sorted[Math.max(1, (sorted.length * percent + 99) / 100) - 1];
    }

    private static void tell(StringBuilder line, String name, double[] times) {
        Arrays.sort(times);
        double median = (times[(times.length - 1) / 2] + times[times.length / 2]) / 2;
        line.append(String.format(Locale.ROOT, ",\"%s\":%.3f", name, median));
    }

    private static double secondsSince(long begun) {
        return 1e-9 * (System.nanoTime() - begun);
    }
}
