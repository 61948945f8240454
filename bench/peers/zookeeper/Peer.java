import java.util.List;

/**
 * ZooKeeper on one server: {@code Peer served}, and on three: {@code Peer three}. See the README
 * of the peers.
 */
public final class Peer {
    /** The heap of a server that is asked alone. */
    private static final String HEAP = "1g";

    private Peer() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0 && arguments[0].equals("three")) {
            Three.main(arguments);
            return;
        }
        Work.main(arguments, "zookeeper", "served", folder ->
            Ensemble.start(folder.path(), 1, HEAP, List.of(Work.WARM, Work.TREE)));
    }
}
