"""PostgreSQL as a store that keeps every version: what is in one table, what was in another. The cases
of `bench/peers/store`, with the same draws and the same values.
"""

import glob
import re
import statistics
import struct

TASK_MS, TASK_REVISIONS = 2, 5
READS, DIFFS = 2000, 500
MASK = (1 << 64) - 1

# A revision's number is taken once the node is locked, so that a node's are in order.
SCHEMA = """
CREATE TABLE nodes (path text COLLATE "C" PRIMARY KEY, since bigint NOT NULL, value bytea NOT NULL);
CREATE TABLE history (
    path text COLLATE "C", until bigint, since bigint NOT NULL, value bytea NOT NULL,
    PRIMARY KEY (path, until)
);
CREATE TABLE changes (revision bigint, path text COLLATE "C", PRIMARY KEY (revision, path));
CREATE SEQUENCE revisions START 2;
CREATE FUNCTION put(leaf text, new bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    old nodes;
    revision bigint;
BEGIN
    SELECT * INTO STRICT old FROM nodes WHERE path = leaf FOR UPDATE;
    revision := nextval('revisions');
    INSERT INTO history VALUES (leaf, revision, old.since, old.value);
    UPDATE nodes SET since = revision, value = new WHERE path = leaf;
    INSERT INTO changes VALUES (revision, leaf);
END $$;
"""

LOOK_BACK = """
PREPARE read(text, bigint) AS SELECT coalesce(
    (SELECT value FROM history WHERE path = $1 AND until > $2 ORDER BY until LIMIT 1),
    (SELECT value FROM nodes WHERE path = $1 AND since <= $2));
PREPARE diff(bigint) AS SELECT path, coalesce(
    (SELECT h.value FROM history h WHERE h.path = c.path AND h.until > $1 ORDER BY h.until LIMIT 1),
    (SELECT n.value FROM nodes n WHERE n.path = c.path))
    FROM changes c WHERE c.revision = $1;
"""

SIZE = "SELECT sum(pg_total_relation_size(t)) FROM unnest('{nodes,history,changes}'::regclass[]) t"

# A leaf and a value that was not there yet.
COMMIT = """
\\set leaf random(0, {last})
\\set stamp random(1, 1000000000000)
SELECT put(lpad((:leaf)::text, 5, '0'), decode(lpad(to_hex((:stamp)::bigint), 64, '0'), 'hex'));
"""


class Rng:
    """SplitMix64: the same numbers in every peer."""

    def __init__(self, seed):
        self.state = seed & MASK

    def below(self, limit):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        a = ((self.state ^ (self.state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        b = ((a ^ (a >> 27)) * 0x94D049BB133111EB) & MASK
        return ((b ^ (b >> 31)) >> 32) * limit >> 32


def value_of(leaf, stamp):
    return (struct.pack("<QQ", leaf, stamp) + b"\x76" * 16).hex()


def load(server, leaves):
    if server.is_in_memory():
        raise RuntimeError("the temporary folder is in memory: name one on a disk with TMPDIR")
    server.script(SCHEMA)
    rows = "".join(f"{leaf:05}\t1\t\\\\x{value_of(leaf, 0)}\n" for leaf in range(leaves))
    first = "INSERT INTO changes VALUES (1, '');"
    server.script(f"COPY nodes FROM STDIN;\n{rows}\\.\n{first}\nVACUUM ANALYZE;\n")


def newest(server):
    return int(server.script("SELECT max(revision) FROM changes;"))


def commit(server, clients, tasks, seed, leaves):
    """Durable commits a second, by PostgreSQL's own program for such loads."""
    load(server, leaves)
    script = server.file("commit.sql", COMMIT.format(last=leaves - 1))
    seconds = max(1, round(tasks * TASK_MS / 1000))
    words = ["-n", "-M", "prepared", "-c", str(clients), "-j", "2", f"--random-seed={seed}"]
    notes = f"{server.folder}/notes"
    words += ["--log", f"--log-prefix={notes}"]
    told = server.ask("pgbench", *words, "-T", str(seconds), "-f", script, "postgres")
    rate = re.search(r"^tps = ([0-9.]+)", told, re.MULTILINE)
    done = int(re.search(r"actually processed: (\d+)", told)[1])
    times = noted(notes)
    lost = abs(newest(server) - 1 - done) + abs(len(times) - done)
    return {
        "seconds": seconds,
        "operations": done,
        "value": float(rate[1]),
        "unit": "1/s",
        "p50": quantile(times, 50),
        "p99": quantile(times, 99),
        "check": "ok" if lost == 0 else f"{lost} commits are not there",
    }


def noted(prefix):
    """The microseconds of all commits, in order. Each has a line: its client, its number, its time."""
    times = []
    for path in glob.glob(f"{prefix}.*"):
        with open(path, encoding="utf-8") as file:
            times += [int(line.split()[2]) for line in file]
    return sorted(times)


def quantile(times, percent):
    return times[max(1, -(-len(times) * percent // 100)) - 1]


def kept(server, _clients, tasks, seed, leaves):
    """Reading at old revisions, what revisions changed, and what the tables take up."""
    load(server, leaves)
    loaded = int(server.script(SIZE + ";"))
    random, revisions = Rng(seed), tasks * TASK_REVISIONS
    changed = [random.below(leaves) for _ in range(revisions)]
    puts = (
        f"SELECT put('{leaf:05}', '\\x{value_of(leaf, stamp)}');\n"
        for stamp, leaf in enumerate(changed, 1)
    )
    server.script("".join(puts))
    size = int(server.script(SIZE + ";"))
    server.restart()

    def value(leaf, changes):
        stamps = (stamp for stamp in range(changes, 0, -1) if changed[stamp - 1] == leaf)
        return value_of(leaf, next(stamps, 0))

    random, reads = Rng(~seed), []
    for _ in range(READS):
        leaf = changed[random.below(revisions)]
        at = random.below(revisions)
        reads.append((f"EXECUTE read('{leaf:05}', {at + 2});", f"\\x{value(leaf, at + 1)}"))
    random, diffs = Rng(~seed), []
    for _ in range(DIFFS):
        at = random.below(revisions)
        leaf = changed[at]
        diffs.append((f"EXECUTE diff({at + 2});", f"{leaf:05}|\\x{value(leaf, at + 1)}"))
    read, wrong_reads = look_back(server, reads)
    diff, wrong_diffs = look_back(server, diffs)
    wrong = wrong_reads + wrong_diffs + abs(newest(server) - 1 - revisions)
    checksum = 0
    for line in server.script("SELECT value FROM nodes ORDER BY path;").split():
        for byte in bytes.fromhex(line[2:]):
            checksum = (checksum * 31 + byte) & 0xFFFFFFFF
    return {
        "seconds": 0,
        "operations": revisions,
        "value": read,
        "unit": "us",
        "diff": diff,
        "folder": size,
        "growth": max(0, size - loaded) / revisions,
        "checksum": checksum,
        "check": "ok" if wrong == 0 else f"{wrong} answers are wrong",
    }


def look_back(server, asked):
    """Asks all twice; the median of the microseconds of the second time, and how many were wrong."""
    once = "".join(query + "\n" for query, _ in asked)
    told = server.script(LOOK_BACK + "\\timing on\n" + 2 * once).splitlines()
    answers = [line for line in told if not line.startswith("Time:")]
    times = [float(line.split()[1]) * 1000 for line in told if line.startswith("Time:")]
    wrong = sum(answer != ought for answer, (_, ought) in zip(answers, 2 * asked))
    wrong += abs(len(answers) - 2 * len(asked))
    return statistics.median(times[len(asked):]), wrong
