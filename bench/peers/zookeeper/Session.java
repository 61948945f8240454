import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;

/** A session with one server, of a connection of its own. */
final class Session implements Store.User {
    /** How long it outlives its connection. */
    private static final int TIMEOUT_MS = 30_000;

    private final ZooKeeper keeper;

    /**
     * Waits so long until it is there, and later for each answer. All servers know of a session,
     * so it is a commit; the server has all that was committed before.
     */
    Session(String address, int patienceMs) throws Exception {
        ZKClientConfig settings = new ZKClientConfig();
        settings.setProperty(
            ZKClientConfig.ZOOKEEPER_REQUEST_TIMEOUT, Integer.toString(patienceMs));
        CountDownLatch there = new CountDownLatch(1);
        keeper = new ZooKeeper(address, TIMEOUT_MS, event -> {
            if (event.getState() == KeeperState.SyncConnected) {
                there.countDown();
            }
        }, settings);
        if (!there.await(patienceMs, TimeUnit.MILLISECONDS)) {
            abandon();
            throw new IOException("the server is not there");
        }
    }

    void create(String name) throws Exception {
        keeper.create("/" + name, new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
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
        return get(path(tree, leaf, Edits.DEPTH));
    }

    @Override
    public boolean isChange(String tree, String before, String after, int leaf, String value) {
        throw new UnsupportedOperationException("nothing is kept of what was before");
    }

    /** What a node below the root has, as this server knows it. */
    String read(String name) throws Exception {
        return get("/" + name);
    }

    void put(String name, String value) throws Exception {
        keeper.setData("/" + name, bytes(value), -1);
    }

    /** Makes a node below another one, unless it is there. */
    void add(String parent, int number) throws Exception {
        try {
            create(parent + "/" + number);
        } catch (KeeperException.NodeExistsException there) {
            // It was made, and not acknowledged.
        }
    }

    int count(String parent) throws Exception {
        return keeper.getChildren("/" + parent, false).size();
    }

    /** Does not wait; what is given does. */
    CompletableFuture<Void> putSoon(String name, String value) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        keeper.setData("/" + name, bytes(value), -1,
            (code, path, context, stat) -> settle(done, code), null);
        return done;
    }

    /** Waits until this server has all that was committed before. */
    void sync() throws Exception {
        CompletableFuture<Void> done = new CompletableFuture<>();
        keeper.sync("/", (code, path, context) -> settle(done, code), null);
        done.get();
    }

    /** From now on there is one more of these each time that the node has changed. */
    Semaphore watch(String name) throws Exception {
        Semaphore changes = new Semaphore(0);
        keeper.addWatch("/" + name, event -> changes.release(), AddWatchMode.PERSISTENT);
        return changes;
    }

    @Override
    public void close() throws Exception {
        keeper.close();
    }

    /** Ends it in the background: without a server, that may take seconds. */
    void abandon() {
        Thread ending = new Thread(() -> {
            try {
                keeper.close();
            } catch (InterruptedException ended) {
                // Then the program is at its end.
            }
        });
        ending.setDaemon(true);
        ending.start();
    }

    private String get(String path) throws Exception {
        return new String(keeper.getData(path, false, null), StandardCharsets.US_ASCII);
    }

    private static void settle(CompletableFuture<Void> done, int code) {
        if (code == KeeperException.Code.OK.intValue()) {
            done.complete(null);
        } else {
            done.completeExceptionally(
                KeeperException.create(KeeperException.Code.get(code)));
        }
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
