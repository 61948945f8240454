import org.apache.jackrabbit.oak.api.PropertyState;
import org.apache.jackrabbit.oak.api.Type;
import org.apache.jackrabbit.oak.segment.RecordId;
import org.apache.jackrabbit.oak.segment.SegmentNodeState;
import org.apache.jackrabbit.oak.segment.SegmentNodeStore;
import org.apache.jackrabbit.oak.segment.SegmentNodeStoreBuilders;
import org.apache.jackrabbit.oak.segment.file.FileStore;
import org.apache.jackrabbit.oak.segment.file.FileStoreBuilder;
import org.apache.jackrabbit.oak.spi.commit.CommitInfo;
import org.apache.jackrabbit.oak.spi.commit.EmptyHook;
import org.apache.jackrabbit.oak.spi.state.DefaultNodeStateDiff;
import org.apache.jackrabbit.oak.spi.state.NodeBuilder;
import org.apache.jackrabbit.oak.spi.state.NodeState;

/**
 * Oak's store of segments in this process: {@code Peer embedded}, and the cases of
 * {@code Workloads}. See the README of the peers.
 */
public final class Peer implements Store {
    static final String KEY = "value";

    private final FileStore files;
    private final SegmentNodeStore nodes;

    private Peer(Folder folder) throws Exception {
        files = FileStoreBuilder.fileStoreBuilder(folder.path().toFile()).build();
        nodes = SegmentNodeStoreBuilders.builder(files).build();
    }

    public static void main(String[] arguments) throws Exception {
        Options options = Options.parse(arguments);
        if (Workloads.CASES.contains(options.caseName())) {
            Workloads.main(options);
            return;
        }
        Work.main(arguments, "oak", "embedded", Peer::new);
    }

    @Override
    public User user() {
        return new Caller();
    }

    @Override
    public boolean looksBack() {
        return true;
    }

    @Override
    public void close() {
        files.close();
    }

    /** The tree as it was, named as the journal names it: kept until it is collected. */
    private NodeState at(String revision) {
        RecordId id = RecordId.fromString(files.getSegmentIdProvider(), revision);
        SegmentNodeState all = files.getReader().readNode(id);
        return all.getChildNode("root");
    }

    private final class Caller implements User {
        @Override
        public void load(String tree, int from, int to) throws Exception {
            NodeBuilder root = nodes.getRoot().builder();
            for (int leaf = from; leaf < to; leaf++) {
                NodeBuilder node = root.child(tree);
                for (int depth = 1; depth <= Edits.DEPTH; depth++) {
                    node = node.child(name(leaf, depth));
                }
                node.setProperty(KEY, Edits.value(leaf, 0));
            }
            commit(root);
        }

        @Override
        public String put(String tree, int leaf, String value) throws Exception {
            NodeBuilder root = nodes.getRoot().builder();
            NodeBuilder node = root.getChildNode(tree);
            for (int depth = 1; depth <= Edits.DEPTH; depth++) {
                node = node.getChildNode(name(leaf, depth));
            }
            node.setProperty(KEY, value);
            commit(root);
            return files.getHead().getRecordId().toString();
        }

        /** On disk before it returns, not up to five seconds later. */
        private void commit(NodeBuilder root) throws Exception {
            nodes.merge(root, EmptyHook.INSTANCE, CommitInfo.EMPTY);
            files.flush();
        }

        @Override
        public String read(String tree, int leaf, String at) {
            NodeState node = at == null ? nodes.getRoot() : at(at);
            node = node.getChildNode(tree);
            for (int depth = 1; depth <= Edits.DEPTH; depth++) {
                node = node.getChildNode(name(leaf, depth));
            }
            return node.getString(KEY);
        }

        @Override
        public boolean isChange(String tree, String before, String after, int leaf, String value) {
            Changes changes = new Changes("", new StringBuilder());
            at(after).compareAgainstBaseState(at(before), changes);
            StringBuilder path = new StringBuilder("/" + tree);
            for (int depth = 1; depth <= Edits.DEPTH; depth++) {
                path.append('/').append(name(leaf, depth));
            }
            return changes.told.toString().equals(path + "=" + value + "\n");
        }

        @Override
        public void close() {
            // It holds nothing.
        }
    }

    static String name(int leaf, int depth) {
        return Integer.toString(Edits.step(leaf, depth));
    }

    /** All that differs, as lines; none of these has anything but a property that changed. */
    private static final class Changes extends DefaultNodeStateDiff {
        private final String path;
        private final StringBuilder told;

        private Changes(String path, StringBuilder told) {
            this.path = path;
            this.told = told;
        }

        @Override
        public boolean propertyChanged(PropertyState before, PropertyState after) {
            told.append(path).append('=').append(after.getValue(Type.STRING)).append('\n');
            return true;
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

        @Override
        public boolean childNodeChanged(String name, NodeState before, NodeState after) {
            return after.compareAgainstBaseState(before, new Changes(path + '/' + name, told));
        }

        private boolean unexpected() {
            told.append(path).append(" has more or less\n");
            return true;
        }
    }
}
