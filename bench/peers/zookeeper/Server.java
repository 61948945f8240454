import java.io.IOException;
import java.io.OutputStream;
import org.apache.zookeeper.server.quorum.QuorumPeerMain;

/** ZooKeeper itself, which ends with its standard input, so with whoever started it. */
public final class Server {
    private Server() {}

    public static void main(String[] arguments) {
        Thread leash = new Thread(Server::endWithInput);
        leash.setDaemon(true);
        leash.start();
        // As its own script starts it: settings that name no other server make it one alone.
        QuorumPeerMain.main(arguments);
    }

    private static void endWithInput() {
        try {
            System.in.transferTo(OutputStream.nullOutputStream());
        } catch (IOException gone) {
            // Then it is closed.
        }
        Runtime.getRuntime().halt(1);
    }
}
