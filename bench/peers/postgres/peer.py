"""PostgreSQL on a server of its own: its own benchmark of reads, `pgbench -S`, and as a store that keeps
every version. One case per run, one line of JSON. See the README beside this folder.

Usage: peer.py CASE [--threads COUNT] [--tasks COUNT] [--seed NUMBER] [--nodes-scale quick]
"""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import history

# Rows of pgbench's accounts for each step of its scale.
ROWS = 100_000
START_WITHIN = 30


def programs():
    """Where Debian has them, the newest; or wherever they are found."""
    folders = glob.glob("/usr/lib/postgresql/*/bin")
    if folders:
        return max(folders, key=lambda folder: int(folder.split("/")[-2]))
    return os.path.dirname(shutil.which("initdb") or "")


class Server:
    """A server that listens on a socket in a folder of its own, and both are gone at the end."""

    def __init__(self):
        # Named so that whoever has to kill this program finds it.
        self.folder = os.path.join(tempfile.gettempdir(), f"bench-postgres-{os.getpid()}")
        self.bin = programs()
        # It refuses to run as root.
        self.user = {"user": "postgres"} if os.geteuid() == 0 else {}

    def __enter__(self):
        os.mkdir(self.folder, 0o700)
        if self.user:
            shutil.chown(self.folder, "postgres")
        data = os.path.join(self.folder, "data")
        self.run("initdb", "--auth=trust", "--username=postgres", "--pgdata", data)
        self.start()
        return self

    def start(self):
        settings = ["listen_addresses=", f"unix_socket_directories={self.folder}"]
        words = [word for setting in settings for word in ("-c", setting)]
        data = os.path.join(self.folder, "data")
        command = [os.path.join(self.bin, "postgres"), "-D", data, *words]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, cwd=self.folder, **quiet, **self.user)
        deadline = time.monotonic() + START_WITHIN
        while subprocess.run(self.client("pg_isready"), **quiet).returncode != 0:
            if time.monotonic() > deadline or self.process.poll() is not None:
                self.__exit__()
                raise RuntimeError("the server does not start")
            time.sleep(0.05)

    def stop(self):
        # So that it waits for no client.
        self.process.send_signal(signal.SIGINT)
        self.process.wait()

    def restart(self):
        self.stop()
        self.start()

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def client(self, program, *words):
        return [os.path.join(self.bin, program), "-h", self.folder, "-U", "postgres", *words]

    def run(self, program, *words):
        command = [os.path.join(self.bin, program), *words]
        return said(command, cwd=self.folder, **self.user)

    def ask(self, program, *words):
        return said(self.client(program, *words))

    def script(self, text):
        """What a script of SQL says, and nothing besides."""
        words = ["-q", "-A", "-t", "-X", "-v", "ON_ERROR_STOP=1", "postgres"]
        return said(self.client("psql", *words), input=text)

    def is_in_memory(self):
        """Is its folder somewhere where nothing is durable?"""
        return said(["stat", "-f", "-c", "%T", self.folder]).strip() in ("tmpfs", "ramfs")

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


def said(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout


def select(server, clients, tasks, seed, leaves):
    seconds, scale = max(1, min(10, tasks // 100)), max(1, leaves // 10_000)
    server.ask("pgbench", "-i", "-q", "-s", str(scale), "postgres")
    load = ["-S", "-c", str(clients), "-j", str(clients), f"--random-seed={seed}"]
    told = server.ask("pgbench", *load, "-T", str(seconds), "postgres")
    rows = server.script("SELECT count(*) FROM pgbench_accounts")
    rate = re.search(r"^tps = ([0-9.]+)", told, re.MULTILINE)
    done = re.search(r"actually processed: (\d+)", told)
    failed = re.search(r"failed transactions: (\d+)", told)
    if not rate or not done:
        raise RuntimeError(f"pgbench says {told}")
    is_right = int(rows) == ROWS * scale and (not failed or int(failed[1]) == 0)
    check = "ok" if is_right else "rows are missing, or transactions failed"
    return {
        "seconds": seconds,
        "operations": int(done[1]),
        "value": float(rate[1]),
        "unit": "1/s",
        "check": check,
    }


CASES = {"select": select, "commit": history.commit, "kept": history.kept}


def main(words):
    if not words or words[0] not in CASES:
        print(f"usage: peer.py {'|'.join(CASES)} [--threads COUNT] [--tasks COUNT]", file=sys.stderr)
        return 2
    options = dict(zip(words[1::2], words[2::2]))
    clients, tasks = int(options.get("--threads", 1)), int(options.get("--tasks", 50))
    leaves = 1_000 if options.get("--nodes-scale") == "quick" else 100_000
    with Server() as server:
        outcome = CASES[words[0]](server, clients, tasks, int(options.get("--seed", 1)), leaves)
    print(json.dumps({"case": words[0], "threads": clients, **outcome}))
    return 0 if outcome["check"] == "ok" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
