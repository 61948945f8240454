import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/** The Java peer: one case per run, one line of JSON. See the README beside this folder. */
public final class Peer {
    private static final String TREE = "tree";

    private final Options options;
    private final Shape shape;

    private Peer(Options options) {
        this.options = options;
        this.shape = Shape.read(options.quick());
    }

    public static void main(String[] arguments) throws Exception {
        Options options = Options.parse(arguments);
        Outcome outcome = run(options);
        System.out.println(outcome.toJson(options));
        System.exit(outcome.check().equals("ok") ? 0 : 1);
    }

    private static Outcome run(Options options) throws Exception {
        return switch (options.caseName()) {
            case "read-visit" -> warm(options, o -> new Peer(o).readVisit(false, false));
            case "read-visit-attribute" -> warm(options, o -> new Peer(o).readVisit(true, false));
            // Warmed up on fresh trees: ageing each of them would cost more than the case.
            case "read-visit-aged" -> {
                warm(options, o -> new Peer(o).readVisit(true, false));
                yield new Peer(options).readVisit(true, true);
            }
            case "write-nodes" -> warm(options, o -> new Peer(o).write(false));
            case "write-attributes" -> warm(options, o -> new Peer(o).write(true));
            case "point-update" -> warm(options, o -> new Peer(o).pointUpdate());
            case "point-read" -> warm(options, o -> new Peer(o).pointRead());
            case "walker-update" -> warm(options, o -> new Peer(o).walkerUpdate());
            case "memory-bare" -> new Peer(options).memory(false);
            case "memory-attribute" -> new Peer(options).memory(true);
            case "wide" -> new Peer(options).wide();
            default -> throw new IllegalArgumentException("unknown case " + options.caseName());
        };
    }

    private interface Case {
        Outcome run(Options options) throws Exception;
    }

    /** Runs the whole case, smaller, until the compiler has had its time; then measures it. */
    private static Outcome warm(Options options, Case measured) throws Exception {
        Options small = options.withTasks(Math.min(options.tasks(), 100)).withSeconds(1);
        long start = System.nanoTime();
        for (int round = 0; round < 3 || secondsSince(start) < options.warmUp(); round++) {
            measured.run(small);
        }
        return measured.run(options);
    }

    /** Counts nodes; the visitor of the reading cases. */
    private static final class Count implements Consumer<Node> {
        private int nodes;

        @Override
        public void accept(Node node) {
            nodes++;
        }

        static int of(Node root) {
            Count count = new Count();
            root.visit(count);
            return count.nodes;
        }
    }

    /** Counts nodes that have attributes. */
    private static final class CountAttributed implements Consumer<Node> {
        private int nodes;

        @Override
        public void accept(Node node) {
            if (node.hasAttributes()) {
                nodes++;
            }
        }

        static int of(Node root) {
            CountAttributed count = new CountAttributed();
            root.visit(count);
            return count.nodes;
        }
    }

    private Outcome readVisit(boolean attributes, boolean aged) throws Exception {
        AtomicReference<Node> tree = plant(attributes);
        if (aged) {
            age(tree);
        }
        settleHeap();
        int base = shape.nodes();
        Rng parents = new Rng(options.seed());
        int[] version = {0};
        AtomicInteger wrong = new AtomicInteger();
        double seconds = onWorkers(options.threads(), worker -> {
            while (true) {
                Node root;
                int mine;
                // One lock makes the versions in order; only the counting runs side by side.
                synchronized (version) {
                    if (version[0] == options.tasks()) {
                        return;
                    }
                    mine = ++version[0];
                    int[] parent = shape.randomParent(parents);
                    root = Jungle.updateTreeWith(node -> node.addChildAt(parent), tree);
                }
                // The added nodes have no attribute.
                int count = attributes ? CountAttributed.of(root) : Count.of(root);
                if (count != (attributes ? base : base + mine)) {
                    wrong.incrementAndGet();
                }
            }
        });
        // Every count was compared, so the visits are known: the base each time and what was added.
        long tasks = options.tasks();
        long visits = tasks * base + tasks * (tasks + 1) / 2;
        return Outcome.rate(seconds, visits, okIfNone(wrong.get(), "snapshots had a wrong count"))
            .with("checksum", Integer.toUnsignedLong(tree.get().checksum(0)));
    }

    private void age(AtomicReference<Node> tree) {
        Rng random = new Rng(options.seed() ^ 0xa6ed);
        int[] path = new int[shape.depth()];
        for (int stamp = 1; stamp <= (options.quick() ? 10_000 : 1_000_000); stamp++) {
            publishOverwrite(tree, random, path, stamp);
        }
    }

    private Outcome write(boolean attributes) throws Exception {
        Shape small = Shape.write(options.quick());
        Jungle jungle = new Jungle();
        settleHeap();
        AtomicInteger next = new AtomicInteger();
        double seconds = onWorkers(options.threads(), worker -> {
            int task;
            while ((task = next.getAndIncrement()) < options.tasks()) {
                String name = "tree-" + task;
                jungle.createTree(name);
                jungle.updateRootNode(name, grow(small, attributes));
            }
        });
        int wrong = 0;
        int sum = 0;
        for (int task = 0; task < options.tasks(); task++) {
            Node root = jungle.getRootNode("tree-" + task);
            sum = root.checksum(sum);
            boolean attributed = CountAttributed.of(root) == (attributes ? small.nodes() : 0);
            if (Count.of(root) != small.nodes() || !attributed) {
                wrong++;
            }
        }
        long nodes = (long) small.nodes() * options.tasks();
        return Outcome.rate(seconds, nodes, okIfNone(wrong, "trees had a wrong count"))
            .with("checksum", Integer.toUnsignedLong(sum));
    }

    /** Builds a tree from the root down, every edit by its path from the root. */
    private static Node grow(Shape small, boolean attributes) {
        Node[] root = {Node.EMPTY};
        if (attributes) {
            root[0] = root[0].putAttribute(new int[0], Payload.KEY, Payload.SHORT_VALUE);
        }
        small.forEachChild((parent, child) -> {
            root[0] = root[0].addChildAt(parent);
            if (attributes) {
                root[0] = root[0].putAttribute(child, Payload.KEY, Payload.SHORT_VALUE);
            }
        });
        return root[0];
    }

    private Outcome pointUpdate() throws Exception {
        AtomicReference<Node> tree = plant(true);
        settleHeap();
        int updates = options.tasks() * 1000;
        double seconds = onWorkers(1, worker -> {
            Rng random = new Rng(options.seed());
            int[] path = new int[shape.depth()];
            for (int stamp = 1; stamp <= updates; stamp++) {
                publishOverwrite(tree, random, path, stamp);
            }
        });
        return Outcome.rate(seconds, updates, checkLeaves(tree.get(), updates));
    }

    private void publishOverwrite(AtomicReference<Node> tree, Rng random, int[] path, int stamp) {
        byte[] value = Payload.value(shape.randomLeaf(random, path), stamp);
        Jungle.updateTreeWith(root -> root.putAttribute(path, Payload.KEY, value), tree);
    }

    private Outcome pointRead() throws Exception {
        AtomicReference<Node> tree = plant(true);
        settleHeap();
        int reads = options.tasks() * 1000;
        AtomicInteger wrong = new AtomicInteger();
        double seconds = onWorkers(options.threads(), worker -> {
            int mine = reads / options.threads() + (worker < reads % options.threads() ? 1 : 0);
            Rng random = new Rng(options.seed() + worker);
            int[] path = new int[shape.depth()];
            int bad = 0;
            for (int i = 0; i < mine; i++) {
                int number = shape.randomLeaf(random, path);
                byte[] value = tree.get().getAttributes(path, Payload.KEY);
                if (value == null || Payload.number(value) != number) {
                    bad++;
                }
            }
            wrong.addAndGet(bad);
        });
        return Outcome.rate(seconds, reads, okIfNone(wrong.get(), "reads found a wrong value"));
    }

    private Outcome walkerUpdate() throws Exception {
        AtomicReference<Node> tree = plant(true);
        settleHeap();
        AtomicInteger stamps = new AtomicInteger();
        AtomicInteger wrongWalks = new AtomicInteger();
        double[] updateSeconds = {0};
        double[] visitsPerSecond = {0};
        long start = System.nanoTime();
        long deadline = start + (long) (options.seconds() * 1e9);
        onWorkers(2, worker -> {
            if (worker == 0) {
                Rng random = new Rng(options.seed());
                int[] path = new int[shape.depth()];
                int stamp = 0;
                do {
                    // The clock is read seldom, so that it does not count.
                    for (int i = 0; i < 64; i++) {
                        publishOverwrite(tree, random, path, ++stamp);
                    }
                } while (System.nanoTime() < deadline);
                updateSeconds[0] = secondsSince(start);
                stamps.set(stamp);
            } else {
                long visits = 0;
                do {
                    int count = CountAttributed.of(tree.get());
                    visits += count;
                    if (count != shape.nodes()) {
                        wrongWalks.incrementAndGet();
                    }
                } while (System.nanoTime() < deadline);
                visitsPerSecond[0] = visits / secondsSince(start);
            }
        });
        int updates = stamps.get();
        String check = okIfNone(wrongWalks.get(), "walks had a wrong count");
        if (check.equals("ok")) {
            check = checkLeaves(tree.get(), updates);
        }
        return Outcome.rate(updateSeconds[0], updates, check).with("walker", visitsPerSecond[0]);
    }

    private Outcome memory(boolean attributes) throws Exception {
        // Loads the classes and the constants, which are not the tree's, and drops what the start
        // of the machine left behind.
        Shape.read(true).build(attributes);
        liveBytes();
        long before = liveBytes();
        long start = System.nanoTime();
        AtomicReference<Node> tree = plant(attributes);
        double seconds = secondsSince(start);
        long after = liveBytes();
        int count = Count.of(tree.get());
        String check = count == shape.nodes() ? "ok" : "the tree has " + count + " nodes";
        return new Outcome(
            seconds, shape.nodes(), (double) (after - before) / shape.nodes(), "B", Map.of(),
            check);
    }

    private Outcome wide() throws Exception {
        // Warmed up by a list short enough that its cost, which grows with the square, is small.
        long start = System.nanoTime();
        for (int round = 0; round < 20 || secondsSince(start) < options.warmUp(); round++) {
            append(Math.min(options.children(), 2000));
        }
        settleHeap();
        Node[] root = {null};
        double seconds = onWorkers(1, worker -> root[0] = append(options.children()));
        int found = root[0].numOfChild();
        String check = found == options.children() ? "ok" : "found " + found + " children";
        return Outcome.rate(seconds, options.children(), check);
    }

    private static Node append(int children) {
        Node node = Node.EMPTY;
        for (int i = 0; i < children; i++) {
            node = node.addChildAt();
        }
        return node;
    }

    private AtomicReference<Node> plant(boolean attributes) {
        Jungle jungle = new Jungle();
        AtomicReference<Node> tree = jungle.createTree(TREE);
        jungle.updateRootNode(TREE, shape.build(attributes));
        return tree;
    }

    /** Compares every leaf with what the same random draws, done again, say it must hold. */
    private String checkLeaves(Node root, int updates) {
        int[] stamps = new int[shape.leaves()];
        Rng random = new Rng(options.seed());
        int[] path = new int[shape.depth()];
        for (int stamp = 1; stamp <= updates; stamp++) {
            stamps[shape.randomLeaf(random, path)] = stamp;
        }
        int[] leaves = {0};
        int[] wrong = {0};
        root.visit(node -> {
            if (node.isLeaf()) {
                int number = leaves[0]++;
                byte[] value = node.attribute(Payload.KEY);
                boolean right = value != null && number < stamps.length
                    && Payload.number(value) == number && Payload.stamp(value) == stamps[number];
                wrong[0] += right ? 0 : 1;
            }
        });
        wrong[0] += Math.abs(leaves[0] - stamps.length);
        return okIfNone(wrong[0], "leaves are wrong or missing");
    }

    private static String okIfNone(int wrong, String what) {
        return wrong == 0 ? "ok" : wrong + " " + what;
    }

    private interface Work {
        void run(int worker);
    }

    /** Runs the work on so many threads, started beforehand, and returns the seconds it took. */
    private static double onWorkers(int threads, Work work) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Callable<Void>> jobs = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                int worker = i;
                jobs.add(() -> {
                    work.run(worker);
                    return null;
                });
            }
            long start = System.nanoTime();
            for (Future<Void> done : pool.invokeAll(jobs)) {
                done.get();
            }
            return secondsSince(start);
        } finally {
            pool.shutdown();
        }
    }

    private static double secondsSince(long start) {
        return (System.nanoTime() - start) / 1e9;
    }

    /** Collects what went before, so that it is not collected on the clock. */
    private static void settleHeap() {
        System.gc();
    }

    private static long liveBytes() {
        System.gc();
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }
}
