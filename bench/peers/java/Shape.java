import java.util.Arrays;
import java.util.function.BiConsumer;

/** The fan-out of each level of a tree, the root's first. */
record Shape(int... fanOuts) {
    /** 810,781 nodes, or 1,327 to try the program out. */
    static Shape read(boolean quick) {
        return quick ? new Shape(2, 2, 2, 2, 3, 2, 3, 3) : new Shape(5, 5, 5, 5, 6, 5, 6, 6);
    }

    /** 10,005 nodes, or 327. */
    static Shape write(boolean quick) {
        return quick ? new Shape(2, 2, 2, 3, 3, 3) : new Shape(4, 4, 4, 5, 5, 5);
    }

    int depth() {
        return fanOuts.length;
    }

    int nodes() {
        int total = 1;
        int level = 1;
        for (int fanOut : fanOuts) {
            level *= fanOut;
            total += level;
        }
        return total;
    }

    int leaves() {
        return Arrays.stream(fanOuts).reduce(1, (a, b) -> a * b);
    }

    /** Fills the path of a random leaf and returns its number in order of paths. */
    int randomLeaf(Rng random, int[] path) {
        int number = 0;
        for (int level = 0; level < fanOuts.length; level++) {
            int position = random.below(fanOuts[level]);
            path[level] = position;
            number = number * fanOuts[level] + position;
        }
        return number;
    }

    /** The path of a random inner node; its depth is uniform. */
    int[] randomParent(Rng random) {
        int[] path = new int[random.below(fanOuts.length)];
        for (int level = 0; level < path.length; level++) {
            path[level] = random.below(fanOuts[level]);
        }
        return path;
    }

    /** Builds the tree bottom up; each value is an object of its own. */
    Node build(boolean attributes) {
        return build(0, 0, attributes);
    }

    private Node build(int level, int number, boolean attributes) {
        if (level == fanOuts.length && !attributes) {
            return Node.EMPTY;
        }
        Node[] children = new Node[level == fanOuts.length ? 0 : fanOuts[level]];
        for (int i = 0; i < children.length; i++) {
            children[i] = build(level + 1, number * children.length + i, attributes);
        }
        return attributes
            ? Node.of(children, Payload.KEY, Payload.value(number, 0))
            : Node.of(children);
    }

    /** Calls back with (path of the parent, path of the child) for each child, parents first. */
    void forEachChild(BiConsumer<int[], int[]> action) {
        forEachChild(new int[0], action);
    }

    private void forEachChild(int[] parent, BiConsumer<int[], int[]> action) {
        if (parent.length == fanOuts.length) {
            return;
        }
        for (int position = 0; position < fanOuts[parent.length]; position++) {
            int[] child = Arrays.copyOf(parent, parent.length + 1);
            child[parent.length] = position;
            action.accept(parent, child);
            forEachChild(child, action);
        }
    }
}
