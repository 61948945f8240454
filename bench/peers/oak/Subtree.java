import org.apache.jackrabbit.oak.segment.RecordId;
import org.apache.jackrabbit.oak.segment.SegmentNodeStore;
import org.apache.jackrabbit.oak.segment.SegmentNodeStoreBuilders;
import org.apache.jackrabbit.oak.segment.memory.MemoryStore;
import org.apache.jackrabbit.oak.spi.commit.CommitInfo;
import org.apache.jackrabbit.oak.spi.commit.EmptyHook;
import org.apache.jackrabbit.oak.spi.state.NodeBuilder;
import org.apache.jackrabbit.oak.spi.state.NodeState;

/** Places, of which one has a subtree of four steps of ten, in memory. */
final class Subtree {
    static final int PLACES = 10;
    static final int LEAVES = 10_000;

    /** The subtree's node, wherever it is. */
    private static final String TOP = "0";

    private final MemoryStore store;
    private final SegmentNodeStore nodes;
    /** What was loaded. */
    private final RecordId loaded;

    Subtree() throws Exception {
        store = new MemoryStore();
        nodes = SegmentNodeStoreBuilders.builder(store).build();
        NodeBuilder root = nodes.getRoot().builder();
        for (int place = 0; place < PLACES; place++) {
            root.child(name(place));
        }
        NodeBuilder top = root.child(name(0)).child(TOP);
        for (int leaf = 0; leaf < LEAVES; leaf++) {
            NodeBuilder node = top;
            for (int below = LEAVES / 10; below > 0; below /= 10) {
                node = node.child(name(leaf / below % 10));
            }
            node.setProperty(Peer.KEY, Workloads.value(leaf, 0));
        }
        merge(root);
        loaded = store.getRevisions().getHead();
    }

    private static String name(int number) {
        return Integer.toString(number);
    }

    private void merge(NodeBuilder root) throws Exception {
        nodes.merge(root, EmptyHook.INSTANCE, CommitInfo.EMPTY);
    }

    void move(int from, int to) throws Exception {
        NodeBuilder root = nodes.getRoot().builder();
        NodeBuilder top = root.getChildNode(name(from)).getChildNode(TOP);
        // As `moveTo` does, which notes besides where it was, for hooks that tell of moves.
        root.getChildNode(name(to)).setChildNode(TOP, top.getNodeState());
        top.remove();
        merge(root);
    }

    /** The value of a leaf, if the subtree is in this place. */
    String read(int place, int leaf) {
        NodeState node = nodes.getRoot().getChildNode(name(place)).getChildNode(TOP);
        for (int below = LEAVES / 10; below > 0; below /= 10) {
            node = node.getChildNode(name(leaf / below % 10));
        }
        return node.getString(Peer.KEY);
    }

    /** Is it known where it was when it had been loaded? */
    boolean wasHome() {
        NodeState root = store.getReader().readNode(loaded).getChildNode("root");
        return root.getChildNode(name(0)).hasChildNode(TOP);
    }
}
