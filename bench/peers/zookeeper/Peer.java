import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/** ZooKeeper on one server: {@code Peer served}. See the README of the peers. */
public final class Peer implements Store {
    /** How long the server may take to be there: others may need the cores. */
    private static final int PATIENCE_SECONDS = 60;
    private static final int SESSION_MS = 30_000;

    private final Process server;
    private final String address;

    /** Starts a server with its own settings, which sync before they answer. */
    private Peer(Folder folder) throws Exception {
        int port = freePort();
        address = "127.0.0.1:" + port;
        Path settings = folder.path().resolve("zoo.cfg");
        Files.writeString(settings, String.join("\n",
            "dataDir=" + folder.path().resolve("data"), "clientPortAddress=127.0.0.1",
            "clientPort=" + port, "maxClientCnxns=0", "admin.enableServer=false", ""));
        ProcessBuilder java = new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xms1g", "-Xmx1g", "-XX:-UsePerfData",
            "-cp", System.getProperty("java.class.path"), "Server", settings.toString());
        Path notes = folder.path().resolve("notes");
        server = java.redirectErrorStream(true).redirectOutput(notes.toFile()).start();
        try (User first = user()) {
            for (String tree : List.of(Work.WARM, Work.TREE)) {
                ((Session) first).keeper.create("/" + tree, new byte[0], Ids.OPEN_ACL_UNSAFE,
                    CreateMode.PERSISTENT);
            }
        } catch (Exception failed) {
            System.err.println(Files.readString(notes));
            close();
            throw failed;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Work.main(arguments, "zookeeper", "served", Peer::new);
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    @Override
    public User user() throws Exception {
        return new Session(address);
    }

    /** Only what is now. */
    @Override
    public boolean looksBack() {
        return false;
    }

    @Override
    public void close() throws Exception {
        // All that was acknowledged is on disk; it has nothing to put in order.
        server.destroy();
        server.waitFor();
    }

    private static final class Session implements User {
        private final ZooKeeper keeper;

        private Session(String address) throws Exception {
            CountDownLatch there = new CountDownLatch(1);
            keeper = new ZooKeeper(address, SESSION_MS, event -> {
                if (event.getState() == KeeperState.SyncConnected) {
                    there.countDown();
                }
            });
            if (!there.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                keeper.close();
                throw new IOException("the server is not there");
            }
        }

        @Override
        public void load(String tree, int from, int to) throws Exception {
            List<Op> made = new ArrayList<>();
            for (int leaf = from; leaf < to; leaf++) {
                for (int depth = 1; depth <= Edits.DEPTH; depth++) {
                    if (Edits.isFirst(leaf, depth)) {
                        String value = depth == Edits.DEPTH ? Edits.value(leaf, 0) : "";
                        made.add(Op.create(path(tree, leaf, depth), bytes(value),
                            Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
                    }
                }
            }
            keeper.multi(made);
        }

        @Override
        public String put(String tree, int leaf, String value) throws Exception {
            keeper.setData(path(tree, leaf, Edits.DEPTH), bytes(value), -1);
            return null;
        }

        @Override
        public String read(String tree, int leaf, String at) throws Exception {
            byte[] value = keeper.getData(path(tree, leaf, Edits.DEPTH), false, null);
            return new String(value, StandardCharsets.US_ASCII);
        }

        @Override
        public boolean isChange(
                String tree, String before, String after, int leaf, String value) {
            throw new UnsupportedOperationException("nothing is kept of what was before");
        }

        @Override
        public void close() throws Exception {
            keeper.close();
        }

        private static String path(String tree, int leaf, int depth) {
            StringBuilder path = new StringBuilder("/" + tree);
            for (int level = 1; level <= depth; level++) {
                path.append('/').append(Edits.step(leaf, level));
            }
            return path.toString();
        }

        private static byte[] bytes(String value) {
            return value.getBytes(StandardCharsets.US_ASCII);
        }
    }
}
