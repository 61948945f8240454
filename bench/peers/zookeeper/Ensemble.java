import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** A server alone, or several that are one ensemble, all with their own settings. */
final class Ensemble implements Store {
    /**
     * What several need to be told: as it is in ZooKeeper's sample of settings, which users begin
     * with. When the leader is killed, those who follow see their connections to it end, and do not
     * wait for the five ticks that it may be silent.
     */
    private static final List<String> TICKS =
        List.of("tickTime=2000", "initLimit=10", "syncLimit=5");

    private final List<Member> members;

    private Ensemble(List<Member> members) {
        this.members = members;
    }

    /**
     * Starts so many, and makes these nodes below the root. They sync before they answer, most of
     * several before a commit is acknowledged.
     */
    static Ensemble start(Path folder, int count, String heap, List<String> nodes)
            throws Exception {
        List<Member> members = new ArrayList<>();
        for (int number = 1; number <= count; number++) {
            Path own = count == 1 ? folder : folder.resolve("member-" + number);
            members.add(new Member(own, heap));
        }
        Ensemble ensemble = new Ensemble(members);
        try {
            ensemble.run();
            try (Session first = ensemble.user()) {
                for (String node : nodes) {
                    first.create(node);
                }
            }
        } catch (Exception failed) {
            for (Member member : members) {
                System.err.print(member.printed());
            }
            ensemble.close();
            throw failed;
        }
        return ensemble;
    }

    private void run() throws IOException {
        List<String> others = new ArrayList<>();
        if (members.size() > 1) {
            others.addAll(TICKS);
            IntStream.range(0, members.size())
                .forEach(at -> others.add(members.get(at).named(at + 1)));
        }
        for (int at = 0; at < members.size(); at++) {
            members.get(at).settle(at + 1, others);
            members.get(at).run();
        }
    }

    List<Member> members() {
        return members;
    }

    /** Waits until each has all that was committed before. */
    void await() throws Exception {
        for (Member member : members) {
            member.await();
        }
    }

    /** A session with each of them, so many times, by turns. */
    List<Session> sessions(int each) throws Exception {
        List<Session> sessions = new ArrayList<>();
        for (int number = 0; number < members.size() * each; number++) {
            sessions.add(members.get(number % members.size()).session());
        }
        return sessions;
    }

    /** The one that leads, once the others have all that it has. */
    int wholeLeader() throws Exception {
        long end = System.nanoTime() + 1_000_000L * Member.PATIENCE_MS;
        while (System.nanoTime() < end) {
            List<Member.Status> told = members.stream().map(Member::status).toList();
            List<String> modes = told.stream().map(Member.Status::mode).toList();
            long commits = told.stream().map(Member.Status::commit).distinct().count();
            if (commits == 1 && modes.contains("leader")) {
                return modes.indexOf("leader");
            }
            Thread.sleep(10);
        }
        throw new IOException("there is no leader, or others do not have all of it");
    }

    @Override
    public Session user() throws Exception {
        return members.get(0).session();
    }

    /** Only what is now. */
    @Override
    public boolean looksBack() {
        return false;
    }

    @Override
    public void close() throws Exception {
        for (Member member : members) {
            member.stop();
        }
    }
}
