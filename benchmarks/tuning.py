"""Training steps with and without the settings that tune the process, in turns.

    python benchmarks/tuning.py free_lists --workloads mlp lenet

One process has the settings, the other has `ONEFLOW_TUNING_OFF`; the setting `thread_cache` is made
for both here, since it is the launcher that makes it. In a round each runs the same
steps, one process after the other. Figures are medians over the rounds: milliseconds of the clock
and of CPU time per step. Peak memory is the process's.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.workloads import WORKLOADS, read, seconds_per_step
from oneflow.tuning.linux import THREAD_CACHE_SETTING


def serve(name: str) -> None:
    """Run a round of steps for each line of standard input, and print what it took."""
    import oneflow

    workload = next(candidate for candidate in WORKLOADS if candidate.name == name)
    step = workload.build("models", oneflow)
    for _ in range(5):
        read(step())
    oneflow.eager.synchronize()
    print("ready", flush=True)
    for _ in sys.stdin:
        before = time.process_time()
        clock = seconds_per_step(step, workload.steps)
        cpu = (time.process_time() - before) / workload.steps
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(clock * 1e3, cpu * 1e3, peak, flush=True)


def start(name: str, off: str) -> subprocess.Popen:
    """Start a process that serves rounds of a workload, and wait until it is ready."""
    has_cache = not {"thread_cache", "all"} & set(off.split(","))
    tunables = {"GLIBC_TUNABLES": THREAD_CACHE_SETTING} if has_cache else {}
    process = subprocess.Popen(
        [sys.executable, __file__, "--serve", name],
        env={**os.environ, "ONEFLOW_TUNING_OFF": off, **tunables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def measure(name: str, off: str, rounds: int) -> dict[str, list[float]]:
    """The medians of both processes: clock and CPU time per step, and the peak memory in MiB."""
    processes = {"on": start(name, ""), "off": start(name, off)}
    figures: dict[str, list[list[float]]] = {"on": [], "off": []}
    for _ in range(rounds):
        for key, process in processes.items():
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            figures[key].append(list(map(float, process.stdout.readline().split())))
    for process in processes.values():
        process.communicate()
    return {
        key: [statistics.median(column) for column in zip(*rows, strict=True)]
        for key, rows in figures.items()
    }


def main() -> None:
    """Measure the chosen settings on the chosen workloads."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("off", nargs="?", default="all", help="settings, separated by commas")
    parser.add_argument("--workloads", nargs="+", default=["mlp", "lenet"])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    print("| step | on ms | off ms | on CPU ms | off CPU ms | on MiB | off MiB |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name in options.workloads:
        medians = measure(name, options.off, options.rounds)
        cells = [
            f"{x:.2f}" for pair in zip(medians["on"], medians["off"], strict=True) for x in pair
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
