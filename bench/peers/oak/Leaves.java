import java.util.Map;
import java.util.TreeMap;
import org.apache.jackrabbit.oak.api.PropertyState;
import org.apache.jackrabbit.oak.api.Type;
import org.apache.jackrabbit.oak.segment.RecordId;
import org.apache.jackrabbit.oak.segment.SegmentNodeStore;
import org.apache.jackrabbit.oak.segment.SegmentNodeStoreBuilders;
import org.apache.jackrabbit.oak.segment.file.FileStore;
import org.apache.jackrabbit.oak.segment.file.FileStoreBuilder;
import org.apache.jackrabbit.oak.spi.commit.CommitInfo;
import org.apache.jackrabbit.oak.spi.commit.EmptyHook;
import org.apache.jackrabbit.oak.spi.state.DefaultNodeStateDiff;
import org.apache.jackrabbit.oak.spi.state.NodeBuilder;
import org.apache.jackrabbit.oak.spi.state.NodeState;

/** A tree of leaves in a folder of its own, and what each of them ought to have. */
final class Leaves implements AutoCloseable {
    private static final int FEW = 1_000;
    private static final int MANY = 100_000;

    /** Where something differs that is not the value of a leaf. */
    private static final int NO_LEAF = -1;

    private final Folder folder;
    private final FileStore files;
    private final SegmentNodeStore nodes;
    private final String[] held;

    Leaves(boolean isFew) throws Exception {
        folder = Folder.make("oak");
        files = FileStoreBuilder.fileStoreBuilder(folder.path().toFile()).build();
        nodes = SegmentNodeStoreBuilders.builder(files).build();
        held = new String[isFew ? FEW : MANY];
        NodeBuilder root = nodes.getRoot().builder();
        for (int leaf = 0; leaf < held.length; leaf++) {
            held[leaf] = Workloads.value(leaf, 0);
            set(root, leaf);
        }
        merge(root);
        flush();
    }

    int count() {
        return held.length;
    }

    /** Commits a value, which need not be on the disk before it is flushed. */
    void put(int leaf, String value) throws Exception {
        held[leaf] = value;
        NodeBuilder root = nodes.getRoot().builder();
        set(root, leaf);
        merge(root);
    }

    void flush() throws Exception {
        files.flush();
    }

    private void set(NodeBuilder root, int leaf) {
        NodeBuilder node = root.child(Work.TREE);
        for (int depth = 1; depth <= Edits.DEPTH; depth++) {
            node = node.child(Peer.name(leaf, depth));
        }
        node.setProperty(Peer.KEY, held[leaf]);
    }

    private void merge(NodeBuilder root) throws Exception {
        nodes.merge(root, EmptyHook.INSTANCE, CommitInfo.EMPTY);
    }

    /** The value of a leaf, as it is now. */
    String read(int leaf) {
        NodeState node = nodes.getRoot().getChildNode(Work.TREE);
        for (int depth = 1; depth <= Edits.DEPTH; depth++) {
            node = node.getChildNode(Peer.name(leaf, depth));
        }
        return node.getString(Peer.KEY);
    }

    /** The newest revision. */
    RecordId newest() {
        return files.getHead().getRecordId();
    }

    /** In which leaves a revision differs from another, and the values that they have then. */
    Map<Integer, String> between(RecordId before, RecordId after) {
        Map<Integer, String> found = new TreeMap<>();
        at(after).compareAgainstBaseState(at(before), new Differences(0, found));
        return found;
    }

    private NodeState at(RecordId revision) {
        NodeState all = files.getReader().readNode(revision);
        return all.getChildNode("root").getChildNode(Work.TREE);
    }

    /** How many have something else. */
    int wrong() {
        int wrong = 0;
        for (int leaf = 0; leaf < held.length; leaf++) {
            wrong += held[leaf].equals(read(leaf)) ? 0 : 1;
        }
        return wrong;
    }

    /** One number for the values of all. */
    int checksum() {
        int sum = 0;
        for (int leaf = 0; leaf < held.length; leaf++) {
            String found = read(leaf);
            sum = found == null ? sum : Workloads.checksum(sum, found);
        }
        return sum;
    }

    @Override
    public void close() throws Exception {
        files.close();
        folder.close();
    }

    /** What differs below a node, of which the steps to it are the digits. */
    private static final class Differences extends DefaultNodeStateDiff {
        private final int above;
        private final Map<Integer, String> found;

        private Differences(int above, Map<Integer, String> found) {
            this.above = above;
            this.found = found;
        }

        @Override
        public boolean propertyChanged(PropertyState before, PropertyState after) {
            found.put(above, after.getValue(Type.STRING));
            return true;
        }

        @Override
        public boolean childNodeChanged(String name, NodeState before, NodeState after) {
            int node = 10 * above + Integer.parseInt(name);
            return after.compareAgainstBaseState(before, new Differences(node, found));
        }

        @Override
        public boolean propertyAdded(PropertyState after) {
            return unexpected();
        }

        @Override
        public boolean propertyDeleted(PropertyState before) {
            return unexpected();
        }

        @Override
        public boolean childNodeAdded(String name, NodeState after) {
            return unexpected();
        }

        @Override
        public boolean childNodeDeleted(String name, NodeState before) {
            return unexpected();
        }

        private boolean unexpected() {
            found.put(NO_LEAF, "");
            return true;
        }
    }
}
