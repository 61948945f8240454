import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;

/** A set of named trees; each is one reference to its newest root. */
final class Jungle {
    private final ConcurrentHashMap<String, AtomicReference<Node>> trees =
        new ConcurrentHashMap<>();

    AtomicReference<Node> createTree(String name) {
        AtomicReference<Node> tree = new AtomicReference<>(Node.EMPTY);
        trees.put(name, tree);
        return tree;
    }

    AtomicReference<Node> findTree(String name) {
        return trees.get(name);
    }

    Node getRootNode(String name) {
        return findTree(name).get();
    }

    void updateRootNode(String name, Node root) {
        findTree(name).set(root);
    }

    void updateRootNodeWith(UnaryOperator<Node> edit, String name) {
        updateTreeWith(edit, findTree(name));
    }

    /** Reads, edits and publishes in one atomic step; a lost race does the edit again. */
    static Node updateTreeWith(UnaryOperator<Node> edit, AtomicReference<Node> tree) {
        while (true) {
            Node root = tree.get();
            Node edited = edit.apply(root);
            if (tree.compareAndSet(root, edited)) {
                return edited;
            }
        }
    }
}
