"""Ray: 10,000 tasks, each of which waits for the one before. One case per run, one line of JSON. See
the README beside this folder.

Usage: peer.py ray chain [--threads COUNT] [--seed NUMBER]
"""

import json
import os
import sys
import time

# It would ask elsewhere for the newest version, and tell somebody that it runs.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray

LINKS = 10_000
WARM_UP = 100


@ray.remote
def link(number):
    return number + 1


def chain(count):
    begun = time.perf_counter()
    reference = ray.put(0)
    for _ in range(count):
        reference = link.remote(reference)
    links = ray.get(reference)
    return time.perf_counter() - begun, links == count


def main(words):
    if words[:2] != ["ray", "chain"]:
        print("usage: peer.py ray chain [--threads COUNT]", file=sys.stderr)
        return 2
    options = dict(zip(words[2::2], words[3::2]))
    threads = int(options.get("--threads", 1))
    ray.init(num_cpus=threads, include_dashboard=False, log_to_driver=False, logging_level="error")
    # Its workers are processes, which are started when there is something to do.
    chain(WARM_UP)
    # One turn takes long enough: the rounds of the benchmark are the others.
    seconds, is_right = chain(LINKS)
    value = 1e6 * seconds
    outcome = {
        "case": "chain",
        "threads": threads,
        "seconds": 0,
        "operations": LINKS,
        "value": value,
        "unit": "us",
        "chain": value,
        "check": "ok" if is_right else "the result is wrong",
    }
    print(json.dumps(outcome))
    ray.shutdown()
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
