import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.jackrabbit.oak.segment.RecordId;

/**
 * What {@code jungle-bench workloads} does to ours: two versions are compared ({@code diff}), one
 * reads beside a writer ({@code readers}), a subtree is moved ({@code subtree}).
 */
final class Workloads {
    static final List<String> CASES = List.of("diff", "readers", "subtree");

    /** Bytes of a value: whose it is, which of its values it is, and filling. */
    private static final int VALUE_BYTES = 32;
    private static final byte FILLING = 0x76;

    /** Characters of those that tell whose it is. */
    private static final int WHOSE = 8;

    private Workloads() {}

    /** All of it again and again, each time anew, until the JVM is warm; then it counts. */
    static void main(Options options) throws Exception {
        long begun = System.nanoTime();
        while (Times.secondsSince(begun) < options.warmUp()) {
            run(options);
        }
        Outcome outcome = run(options);
        System.out.println(outcome.toJson(options));
        System.exit(outcome.check().equals("ok") ? 0 : 1);
    }

    private static Outcome run(Options options) throws Exception {
        return switch (options.caseName()) {
            case "diff" -> Diff.run(options);
            case "readers" -> Readers.run(options);
            default -> subtree(options);
        };
    }

    /** Its bytes, one in each character. */
    static String value(int leaf, int stamp) {
        byte[] value = new byte[VALUE_BYTES];
        Arrays.fill(value, FILLING);
        ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN).putLong(leaf).putLong(stamp);
        return new String(value, StandardCharsets.ISO_8859_1);
    }

    /** One number for this value and all before it. */
    static int checksum(int sum, String value) {
        int next = sum;
        for (int at = 0; at < value.length(); at++) {
            next = next * 31 + value.charAt(at);
        }
        return next;
    }

    private static String check(int wrong, String what) {
        return wrong == 0 ? "ok" : wrong + " " + what;
    }

    /** Versions that lie apart, in a folder of which nothing is synced. */
    private static final class Diff {
        private static final int EDITS = 2_000;
        private static final int APART = 1_000;
        private static final int PAIRS = 50;
        /** When it is over, if it is slow. */
        private static final double TURN_SECONDS = 2;

        private final Leaves leaves;
        private final long seed;
        /** What was loaded, and what each edit made of it. */
        private final RecordId[] revisions = new RecordId[EDITS + 1];
        /** The leaf of each edit. */
        private final int[] changed = new int[EDITS];
        private int wrong;

        private Diff(Leaves leaves, long seed) {
            this.leaves = leaves;
            this.seed = seed;
        }

        static Outcome run(Options options) throws Exception {
            try (Leaves leaves = new Leaves(options.quick())) {
                Diff diff = new Diff(leaves, ~options.seed());
                diff.edit(new Rng(options.seed()));
                diff.compare(1);
                double adjacent = diff.compare(1);
                diff.compare(APART);
                double apart = diff.compare(APART);
                int wrong = diff.wrong + leaves.wrong();
                double sum = Integer.toUnsignedLong(leaves.checksum());
                return new Outcome(0, EDITS, apart, "us",
                    Map.of("adjacent", adjacent, "checksum", sum),
                    check(wrong, "answers or values are wrong"));
            }
        }

        private void edit(Rng random) throws Exception {
            revisions[0] = leaves.newest();
            for (int edit = 0; edit < EDITS; edit++) {
                changed[edit] = random.below(leaves.count());
                leaves.put(changed[edit], value(changed[edit], edit + 1));
                revisions[edit + 1] = leaves.newest();
            }
        }

        /** Pairs that lie so many commits apart. Gives the median of the microseconds. */
        private double compare(int apart) {
            Rng random = new Rng(seed);
            Times times = new Times();
            long turn = System.nanoTime();
            for (int pair = 0; pair < PAIRS && Times.secondsSince(turn) < TURN_SECONDS; pair++) {
                int from = random.below(EDITS - apart + 1);
                long begun = System.nanoTime();
                Map<Integer, String> found =
                    leaves.between(revisions[from], revisions[from + apart]);
                times.add(System.nanoTime() - begun);
                // Of a leaf that several of them changed, the last one's value.
                Map<Integer, String> ought = new TreeMap<>();
                for (int edit = from; edit < from + apart; edit++) {
                    ought.put(changed[edit], value(changed[edit], edit + 1));
                }
                wrong += found.equals(ought) ? 0 : 1;
            }
            return times.median() / 1e3;
        }
    }

    /** Reads at the head alone, beside a writer of durable commits, and that writer alone. */
    private static final class Readers {
        private static final int TURN_MILLIS = 200;
        /** There is a turn of each kind for so many tasks. */
        private static final int TURN_TASKS = 100;
        /** So many out of a thousand reads are at least as fast. */
        private static final int PART = 990;

        private final Leaves leaves;
        private final Rng reads;
        private final Rng writes;
        private int commits;
        private int wrong;

        private Readers(Leaves leaves, long seed) {
            this.leaves = leaves;
            reads = new Rng(seed);
            writes = new Rng(~seed);
        }

        static Outcome run(Options options) throws Exception {
            try (Leaves leaves = new Leaves(options.quick())) {
                Readers both = new Readers(leaves, options.seed());
                Times alone = new Times();
                Times beside = new Times();
                Rate commits = new Rate();
                Rate commitsAlone = new Rate();
                both.read(new Times());
                for (int task = 0; task < options.tasks(); task += TURN_TASKS) {
                    both.read(alone);
                    both.writeBeside(commits, () -> both.read(beside));
                    both.writeBeside(commitsAlone, () -> {
                        Thread.sleep(TURN_MILLIS);
                        return null;
                    });
                }
                int wrong = both.wrong + leaves.wrong();
                return new Outcome(commits.seconds + commitsAlone.seconds, both.commits,
                    beside.least(PART), "ns",
                    Map.of("alone", alone.least(PART), "commits", commits.value(),
                        "commits-alone", commitsAlone.value()),
                    check(wrong, "values are not as they ought to be"));
            }
        }

        /** Reads for a turn; notes how many nanoseconds each took. */
        private Void read(Times times) {
            long begun = System.nanoTime();
            while (System.nanoTime() - begun < TURN_MILLIS * 1_000_000L) {
                int leaf = reads.below(leaves.count());
                long reading = System.nanoTime();
                String found = leaves.read(leaf);
                times.add(System.nanoTime() - reading);
                boolean isIts = found != null && found.regionMatches(0, value(leaf, 0), 0, WHOSE);
                wrong += isIts ? 0 : 1;
            }
            return null;
        }

        /** Commits while something else is done, and adds how many that were. */
        private void writeBeside(Rate rate, Callable<Void> other) throws Exception {
            AtomicBoolean isOver = new AtomicBoolean();
            FutureTask<Void> writing = new FutureTask<>(() -> {
                while (!isOver.get()) {
                    int leaf = writes.below(leaves.count());
                    commits++;
                    leaves.put(leaf, value(leaf, commits));
                    leaves.flush();
                }
                return null;
            });
            int before = commits;
            long begun = System.nanoTime();
            new Thread(writing).start();
            try {
                other.call();
            } finally {
                isOver.set(true);
            }
            writing.get();
            rate.count += commits - before;
            rate.seconds += Times.secondsSince(begun);
        }
    }

    /** So many in so many seconds. */
    private static final class Rate {
        private int count;
        private double seconds;

        private double value() {
            return count / seconds;
        }
    }

    /** Moves, as many as there are tasks, or fewer if it is slow; then it comes home. */
    private static Outcome subtree(Options options) throws Exception {
        final double turnSeconds = 10;
        Subtree tree = new Subtree();
        Rng random = new Rng(options.seed());
        Times moves = new Times();
        Times reads = new Times();
        int here = 0;
        int wrong = 0;
        long turn = System.nanoTime();
        for (int task = 0;
                task < options.tasks() && Times.secondsSince(turn) < turnSeconds; task++) {
            int to = (here + 1 + random.below(Subtree.PLACES - 1)) % Subtree.PLACES;
            long begun = System.nanoTime();
            tree.move(here, to);
            moves.add(System.nanoTime() - begun);
            int leaf = random.below(Subtree.LEAVES);
            begun = System.nanoTime();
            String found = tree.read(to, leaf);
            reads.add(System.nanoTime() - begun);
            wrong += value(leaf, 0).equals(found) ? 0 : 1;
            wrong += tree.read(here, leaf) == null ? 0 : 1;
            here = to;
        }
        double seconds = Times.secondsSince(turn);
        if (here != 0) {
            tree.move(here, 0);
        }
        int sum = 0;
        for (int leaf = 0; leaf < Subtree.LEAVES; leaf++) {
            String found = tree.read(0, leaf);
            wrong += value(leaf, 0).equals(found) ? 0 : 1;
            sum = found == null ? sum : checksum(sum, found);
        }
        wrong += tree.wasHome() ? 0 : 1;
        return new Outcome(seconds, moves.count(), moves.median() / 1e3, "us",
            Map.of("read", reads.median() / 1e3, "checksum", (double) Integer.toUnsignedLong(sum)),
            check(wrong, "leaves are not where they ought to be"));
    }
}
