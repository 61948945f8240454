import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** A folder beside the classes, so on the disk that is built on; gone at the end. */
record Folder(Path path) implements AutoCloseable {
    private static final int BLOCK_BYTES = 512;

    static Folder make(String name) throws Exception {
        var classes = Folder.class.getProtectionDomain().getCodeSource().getLocation();
        String own = "bench-" + name + "-" + ProcessHandle.current().pid();
        return new Folder(Files.createDirectories(Path.of(classes.toURI()).resolveSibling(own)));
    }

    /** Bytes that the disk has given for its files. */
    long allocated() throws IOException {
        long bytes = 0;
        for (Path file : files()) {
            bytes += Files.isRegularFile(file) ? blocks(file) * BLOCK_BYTES : 0;
        }
        return bytes;
    }

    /** Java has no name of its own for it. A file that is gone meanwhile has none. */
    private static long blocks(Path file) throws IOException {
        Process stat = new ProcessBuilder("stat", "--format=%b", file.toString())
            .redirectError(ProcessBuilder.Redirect.DISCARD).start();
        String said = new String(stat.getInputStream().readAllBytes()).trim();
        return said.isEmpty() ? 0 : Long.parseLong(said);
    }

    private Path[] files() throws IOException {
        try (Stream<Path> all = Files.walk(path)) {
            return all.sorted(Comparator.reverseOrder()).toArray(Path[]::new);
        } catch (UncheckedIOException gone) {
            throw gone.getCause();
        }
    }

    @Override
    public void close() throws IOException {
        for (Path file : files()) {
            Files.deleteIfExists(file);
        }
    }
}
