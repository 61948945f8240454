import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.KeeperException;

/**
 * Reads of one server, of two and of three, from each one's own copy; how long a commit through
 * one takes to be seen on another; how long commits stand still when the leader is killed. See
 * {@code jungle-bench}'s experiment {@code neighbours}, its {@code three}.
 */
final class Three {
    private static final int MEMBERS = 3;
    /** All of them fit beside each other. */
    private static final String HEAP = "512m";

    /**
     * Reads of each client in a turn, for each task. At least so many turns warm up: a JVM needs
     * tens of thousands of reads until one costs no less than the one before.
     */
    private static final int TASK_READS = 10;
    private static final int WARM_TURNS = 10;
    private static final int READ_TURNS = 5;
    /** Commits, for each task, that are waited for on another server. */
    private static final int TASK_SEEN = 4;
    /** More tasks add nothing to either. */
    private static final int TASKS_MAX = 100;

    /** Tasks for each time that a leader is killed, and how often it is at most. */
    private static final int TASKS_KILL = 25;
    private static final int KILLS_MAX = 4;
    /** Commits before a leader is killed, and after. */
    private static final int GAP_COMMITS = 100;
    /** So long one attempt to commit is waited for, or to have a session again. */
    private static final int ATTEMPT_MS = 200;

    /** The nodes that are waited for, and that are written while a leader is killed. */
    private static final String SEEN = "seen";
    private static final String KILLED = "killed";

    /** What is told of reads ends so: of one server, two and three. */
    private static final List<String> SIZES = List.of("-alone", "-two", "");

    private final Options options;
    /** As many as there are sizes; all but the last are only read from. */
    private final List<Ensemble> clusters;
    private final Ensemble cluster;
    private final StringBuilder line;
    /** Tasks of all but killing. */
    private final int tasks;
    private int wrong;
    /** The last number that was committed while leaders were killed. */
    private int number;

    private Three(Options options, Ensemble alone, Ensemble two, Ensemble cluster) {
        this.options = options;
        clusters = List.of(alone, two, cluster);
        this.cluster = cluster;
        tasks = Math.min(options.tasks(), TASKS_MAX);
        line = new StringBuilder(String.format(Locale.ROOT,
            "{\"case\":\"three\",\"threads\":%d,\"seconds\":0,\"operations\":%d,\"unit\":\"1/s\"",
            options.threads(), options.threads() * tasks * TASK_READS));
    }

    /** Measures, and ends the program. */
    static void main(String[] arguments) throws Exception {
        Options options = Options.parse(arguments);
        String check;
        try (Folder folder = Folder.make("zookeeper");
                Ensemble alone = start(folder, "alone", 1, options);
                Ensemble two = start(folder, "two", 2, options);
                Ensemble cluster = start(folder, "cluster", MEMBERS, options)) {
            Three three = new Three(options, alone, two, cluster);
            three.readInTurns();
            three.seenElsewhere();
            three.leadersKilled();
            check = three.check(three.lost());
            System.out.println(three.line.append(",\"check\":\"" + check + "\"}"));
        }
        System.exit(check.equals("ok") ? 0 : 1);
    }

    private static Ensemble start(Folder folder, String name, int count, Options options)
            throws Exception {
        List<String> nodes = List.of(Work.TREE, SEEN, KILLED);
        Ensemble started = Ensemble.start(folder.path().resolve(name), count, HEAP, nodes);
        try {
            Work.load(started, Work.TREE, Edits.draw(options, 0));
            // Each has what is read from its own copy afterwards.
            started.await();
        } catch (Exception failed) {
            started.close();
            throw failed;
        }
        return started;
    }

    /** Reads of one server, of two and of three, all of which are asked at once, in turns. */
    private void readInTurns() throws Exception {
        double[][] rates = new double[SIZES.size()][READ_TURNS];
        double[][] costs = new double[SIZES.size()][READ_TURNS];
        // Before the clock starts, since each of them is a commit.
        List<List<Session>> clients = new ArrayList<>();
        for (Ensemble ensemble : clusters) {
            clients.add(ensemble.sessions(options.threads()));
        }
        long begun = System.nanoTime();
        for (int turn = 0; turn < WARM_TURNS || secondsSince(begun) < options.warmUp(); turn++) {
            for (List<Session> sessions : clients) {
                readAll(sessions);
            }
        }
        for (int turn = 0; turn < READ_TURNS; turn++) {
            for (int which = 0; which < SIZES.size(); which++) {
                List<Member> servers = clusters.get(which).members();
                double reads = clients.get(which).size() * tasks * TASK_READS;
                double before = processorSeconds(servers);
                double seconds = readAll(clients.get(which));
                double cost = 1e6 * (processorSeconds(servers) - before) / reads;
                rates[which][turn] = reads / seconds;
                costs[which][turn] = cost;
            }
        }
        for (List<Session> sessions : clients) {
            for (Session session : sessions) {
                session.close();
            }
        }
        tell("value", median(rates[SIZES.size() - 1]));
        for (int which = 0; which < SIZES.size(); which++) {
            tell("read" + SIZES.get(which), median(rates[which]));
            tell("read-cpu" + SIZES.get(which), median(costs[which]));
        }
    }

    /** All clients of all servers at once. Gives the seconds. */
    private double readAll(List<Session> clients) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(clients.size());
        try {
            List<Callable<Integer>> all = new ArrayList<>();
            for (int client = 0; client < clients.size(); client++) {
                int seat = client;
                all.add(() -> readSome(clients.get(seat), seat));
            }
            long begun = System.nanoTime();
            List<Future<Integer>> done = threads.invokeAll(all);
            double seconds = secondsSince(begun);
            for (Future<Integer> some : done) {
                wrong += some.get();
            }
            return seconds;
        } finally {
            threads.shutdownNow();
        }
    }

    /** What this client's server has, without asking the others. Gives how much is wrong. */
    private int readSome(Session client, int seat) throws Exception {
        Rng random = new Rng(options.seed() + seat);
        int leaves = Edits.draw(options, 0).count;
        int wrong = 0;
        for (int read = 0; read < tasks * TASK_READS; read++) {
            int leaf = random.below(leaves);
            String found = client.read(Work.TREE, leaf, null);
            wrong += found.equals(Edits.value(leaf, 0)) ? 0 : 1;
        }
        return wrong;
    }

    private static double processorSeconds(List<Member> servers) {
        Duration sum = servers.stream().map(Member::processorTime)
            .reduce(Duration.ZERO, Duration::plus);
        return 1e-9 * sum.toNanos();
    }

    /**
     * Milliseconds from before a commit is sent to one server until another one, which is watched,
     * shows it. A watch tells that there is something new and not what, so it is read there: that
     * belongs to it.
     */
    private void seenElsewhere() throws Exception {
        List<Session> clients = cluster.sessions(1);
        List<Semaphore> changes = new ArrayList<>();
        for (Session client : clients) {
            changes.add(client.watch(SEEN));
        }
        double[] times = new double[tasks * TASK_SEEN];
        for (int commit = 1; commit <= times.length; commit++) {
            int from = commit % MEMBERS;
            int to = (commit + 1) % MEMBERS;
            String value = Integer.toString(commit);
            changes.get(to).drainPermits();
            long begun = System.nanoTime();
            CompletableFuture<Void> put = clients.get(from).putSoon(SEEN, value);
            do {
                if (!changes.get(to).tryAcquire(Member.PATIENCE_MS, TimeUnit.MILLISECONDS)) {
                    throw new IOException("nothing comes any more");
                }
            } while (!clients.get(to).read(SEEN).equals(value));
            times[commit - 1] = 1e3 * secondsSince(begun);
            put.get();
        }
        for (Session client : clients) {
            client.close();
        }
        tell("seen", median(times));
        // They are in order now.
        tell("seen-p99", times[(times.length * 99 + 99) / 100 - 1]);
    }

    /** Seconds without an acknowledged commit when the leader is killed. */
    private void leadersKilled() throws Exception {
        double[] gaps = new double[Math.min(Math.max(options.tasks() / TASKS_KILL, 1), KILLS_MAX)];
        for (int round = 0; round < gaps.length; round++) {
            int leader = cluster.wholeLeader();
            gaps[round] = longestGap(leader);
            cluster.members().get(leader).run();
            cluster.members().get(leader).await();
        }
        tell("resume", median(gaps));
        // They are in order now.
        tell("resume-most", gaps[gaps.length - 1]);
    }

    /**
     * The longest time between two acknowledgements of one who commits to a server that stays,
     * while the leader is killed.
     */
    private double longestGap(int leader) throws Exception {
        Member stays = cluster.members().get((leader + 1) % MEMBERS);
        Session session = putUntil(null, stays);
        double longest = 0;
        long last = System.nanoTime();
        for (int commit = 0; commit < 2 * GAP_COMMITS; commit++) {
            if (commit == GAP_COMMITS) {
                cluster.members().get(leader).kill();
            }
            number++;
            session = putUntil(session, stays);
            longest = Math.max(longest, secondsSince(last));
            last = System.nanoTime();
        }
        session.close();
        return longest;
    }

    /**
     * Tries again until it is acknowledged. A server that loses its leader ends all connections.
     * The client asks it again by itself, but waits up to a second before, and another one where
     * it knows no other server: a new session is there sooner. Begins with this session, or with
     * none; gives the one that there is in the end.
     */
    private Session putUntil(Session session, Member stays) throws Exception {
        long begun = System.nanoTime();
        Session trying = session;
        while (true) {
            try {
                if (trying == null) {
                    trying = stays.session(ATTEMPT_MS);
                }
                // Each has a place of its own, so that it is seen if one is lost.
                trying.add(KILLED, number);
                return trying;
            } catch (KeeperException | IOException failed) {
                if (1e3 * secondsSince(begun) > Member.PATIENCE_MS) {
                    throw failed;
                }
            }
            if (trying != null) {
                trying.abandon();
                trying = null;
            }
        }
    }

    /** How many of those that were acknowledged the servers do not have. */
    private int lost() throws Exception {
        int lost = 0;
        for (Member member : cluster.members()) {
            try (Session session = member.session()) {
                session.sync();
                // The first was 0.
                lost += number + 1 - session.count(KILLED);
            }
        }
        return lost;
    }

    private String check(int lost) {
        return wrong + lost == 0 ? "ok"
            : wrong + " answers are wrong, " + lost + " acknowledged commits are lost";
    }

    private void tell(String name, double number) {
        line.append(String.format(Locale.ROOT, ",\"%s\":%.6f", name, number));
    }

    /** Puts them in order. */
    private static double median(double[] numbers) {
        Arrays.sort(numbers);
        return (numbers[(numbers.length - 1) / 2] + numbers[numbers.length / 2]) / 2;
    }

    private static double secondsSince(long begun) {
        return 1e-9 * (System.nanoTime() - begun);
    }
}
