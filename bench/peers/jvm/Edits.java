/** Which leaves there are, and which of them get new values: the same in all systems. */
final class Edits {
    static final int DEPTH = 5;

    final long seed;
    /** Leaves of the tree. */
    final int count;
    final int clients;
    /** The leaf of each edit, whose stamps count from 1. */
    final int[] leaves;

    private Edits(long seed, int count, int clients, int[] leaves) {
        this.seed = seed;
        this.count = count;
        this.clients = clients;
        this.leaves = leaves;
    }

    static Edits draw(Options options, int edits) {
        int count = options.quick() ? 1_000 : 100_000;
        Rng random = new Rng(options.seed());
        int[] leaves = new int[edits];
        for (int at = 0; at < edits; at++) {
            leaves[at] = random.below(count);
        }
        return new Edits(options.seed(), count, options.threads(), leaves);
    }

    /** The key in this step, from 1 on, to a leaf. */
    static int step(int leaf, int depth) {
        return leaf / below(depth) % 10;
    }

    /** Is it the first leaf below the node of this depth on its path? */
    static boolean isFirst(int leaf, int depth) {
        return leaf % below(depth) == 0;
    }

    /** How many leaves there are below a node of this depth. */
    private static int below(int depth) {
        int leaves = 1;
        for (int level = depth; level < DEPTH; level++) {
            leaves *= 10;
        }
        return leaves;
    }

    /** Whose value it is, and which of its values: 32 characters. */
    static String value(int leaf, int stamp) {
        return String.format("%016x%016x", leaf, stamp);
    }

    /** The last stamp of each leaf; 0 is what was loaded. */
    int[] held() {
        int[] held = new int[count];
        for (int at = 0; at < leaves.length; at++) {
            held[leaves[at]] = at + 1;
        }
        return held;
    }

    /** What a leaf has after this edit, if one client does them all. */
    String valueAfter(int leaf, int at) {
        int last = at;
        while (last >= 0 && leaves[last] != leaf) {
            last--;
        }
        return value(leaf, last + 1);
    }
}
