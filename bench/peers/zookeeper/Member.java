import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** A server in a process and a folder of its own. */
final class Member {
    /** How long the server may take to be there: others may need the cores. */
    static final int PATIENCE_MS = 60_000;

    /** Where clients ask it, and where the others do when they copy and when they choose. */
    private final int clients = freePort();
    private final int copies = freePort();
    private final int choices = freePort();
    private final Path folder;
    private final String heap;
    private Process process;

    /** What a server is among the others, and its last commit. */
    record Status(String mode, String commit) {}

    /** One that does not run yet. */
    Member(Path folder, String heap) throws IOException {
        this.folder = folder;
        this.heap = heap;
    }

    /** How its own settings and those of the others name it. */
    String named(int number) {
        return "server." + number + "=127.0.0.1:" + copies + ":" + choices;
    }

    /** Writes its settings: what differs from the defaults, and what it is told of the others. */
    void settle(int number, List<String> others) throws IOException {
        Path data = Files.createDirectories(folder.resolve("data"));
        if (!others.isEmpty()) {
            Files.writeString(data.resolve("myid"), Integer.toString(number));
        }
        Files.writeString(settings(), String.join("\n",
            "dataDir=" + data, "clientPortAddress=127.0.0.1", "clientPort=" + clients,
            "maxClientCnxns=0", "admin.enableServer=false", String.join("\n", others), ""));
    }

    /** Starts it, the first time or again. */
    void run() throws IOException {
        ProcessBuilder java = new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xms" + heap, "-Xmx" + heap, "-XX:-UsePerfData",
            "-cp", System.getProperty("java.class.path"), "Server", settings().toString());
        process = java.redirectErrorStream(true).redirectOutput(notes().toFile()).start();
    }

    Session session() throws Exception {
        return session(PATIENCE_MS);
    }

    Session session(int patienceMs) throws Exception {
        return new Session("127.0.0.1:" + clients, patienceMs);
    }

    /** Waits until it serves, and has all that was committed before. */
    void await() throws Exception {
        try (Session session = session()) {
            session.sync();
        }
    }

    /** What it tells of itself, which is nothing when nobody answers. */
    Status status() {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), clients)) {
            socket.getOutputStream().write("srvr".getBytes(StandardCharsets.US_ASCII));
            byte[] told = socket.getInputStream().readAllBytes();
            String text = new String(told, StandardCharsets.US_ASCII);
            return new Status(line(text, "Mode: "), line(text, "Zxid: "));
        } catch (IOException nobody) {
            return new Status("", "");
        }
    }

    private static String line(String text, String begin) {
        return text.lines().filter(line -> line.startsWith(begin)).findFirst()
            .map(line -> line.substring(begin.length())).orElse("");
    }

    /** What it has used of the processors, also in threads that have ended. */
    Duration processorTime() {
        return process.info().totalCpuDuration().orElseThrow();
    }

    /** Ends it with no time for anything. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** All that was acknowledged is on disk; it has nothing to put in order. */
    void stop() throws InterruptedException {
        if (process != null) {
            process.destroy();
            process.waitFor();
        }
    }

    /** What it has printed: hardly anything, since its own notes are switched off. */
    String printed() throws IOException {
        return Files.exists(notes()) ? Files.readString(notes()) : "";
    }

    private Path settings() {
        return folder.resolve("zoo.cfg");
    }

    private Path notes() {
        return folder.resolve("notes");
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}
