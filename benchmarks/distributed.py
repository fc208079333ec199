"""The cost of a second process per step: data parallel training of OneFlow and PyTorch, over Gloo.

    python benchmarks/distributed.py             # all workloads
    python benchmarks/distributed.py mlp gpt     # some of them

Two processes run, each on a core of its own, with both libraries in each. In a round every process
runs the same steps four times, one after the other: with either library, alone and data parallel.
Both cores are busy all the time, so the difference between alone and together is what exchanging
gradients costs: the overhead. Figures are medians over the rounds, of the slower process; the
overhead is the median of what it was in each round, as the machine's speed drifts by more.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import socket
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROCESSES = 2
sys.path.insert(0, str(ROOT))

if "RANK" in os.environ:
    # Before any library counts the cores.
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[int(os.environ["RANK"]) % len(cores)]})

import oneflow
from benchmarks.models.training import eager_step
from benchmarks.rivals import warm_up
from benchmarks.workloads import WORKLOADS, seconds_per_step

CHOSEN = ("mlp", "mlp_small", "lenet", "gpt")
# The measured difference is small: many rounds, of many steps.
ROUNDS, STEPS = 3, 4


def data_parallel(parallel):
    """A way to run a step: with the model wrapped."""
    return lambda training: eager_step(
        dataclasses.replace(training, model=parallel(training.model))
    )


def connect_torch():
    """Connect PyTorch's processes as OneFlow's are."""
    import torch

    port = oneflow.zeros(1, dtype=oneflow.int64)
    if oneflow.env.get_rank() == 0:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port += probe.getsockname()[1]
    oneflow.comm.broadcast(port, 0)
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo",
        init_method=f"tcp://127.0.0.1:{port.item()}",
        rank=oneflow.env.get_rank(),
        world_size=PROCESSES,
    )


def measure(workload) -> dict[str, float]:
    """Median seconds per step of each library, alone and together, and of the difference."""
    import torch

    torch.manual_seed(0)
    oneflow.manual_seed(0)
    torch_ddp = torch.nn.parallel.DistributedDataParallel
    our_ddp = oneflow.nn.parallel.DistributedDataParallel
    steps = {
        "torch alone": workload.build("models", torch),
        "oneflow alone": workload.build("models", oneflow),
        "torch together": workload.build("models", torch, make_step=data_parallel(torch_ddp)),
        "oneflow together": workload.build("models", oneflow, make_step=data_parallel(our_ddp)),
    }
    for name, step in steps.items():
        warm_up(step, name.split()[0])
    times = {name: [] for name in steps}
    for _ in range(workload.rounds * ROUNDS):
        for name, step in steps.items():
            oneflow.comm.barrier()
            times[name].append(seconds_per_step(step, workload.steps * STEPS))
    for library in ("torch", "oneflow"):
        pairs = zip(times[f"{library} together"], times[f"{library} alone"], strict=True)
        times[f"{library} overhead"] = [together - alone for together, alone in pairs]
    medians = oneflow.tensor([statistics.median(time) for time in times.values()])
    both = [oneflow.zeros(len(times)) for _ in range(PROCESSES)]
    oneflow.comm.all_gather(both, medians)
    slower = oneflow.stack(both).max(dim=0)[0]
    return dict(zip(times, slower.tolist(), strict=True))


def row(name: str, medians: dict[str, float]) -> str:
    """One line of the Markdown table."""
    ms = {key: value * 1e3 for key, value in medians.items()}
    libraries = ("oneflow", "torch")
    cells = [f"{ms[f'{key} {how}']:.2f}" for key in libraries for how in ("alone", "together")]
    cells += [f"{ms[f'{key} overhead']:.2f}" for key in libraries]
    cells.append(f"{ms['oneflow overhead'] / ms['torch overhead']:.2f}")
    cells.append(f"{ms['oneflow together'] / ms['torch together']:.2f}")
    return f"| {name} | {' | '.join(cells)} |"


def run_here(names: list[str]) -> None:
    """Measure in this process, which is one of several."""
    connect_torch()
    show = print if oneflow.env.get_rank() == 0 else (lambda *_, **__: None)
    show(
        "| training step | oneflow alone ms | together | torch alone ms | together "
        "| oneflow overhead ms | torch overhead ms | overhead / torch | step / torch |"
    )
    show("|---|---|---|---|---|---|---|---|---|", flush=True)
    known = {workload.name: workload for workload in WORKLOADS}
    for name in names:
        show(row(name, measure(known[name])), flush=True)


def main() -> int:
    """Start the processes, or be one of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(CHOSEN)}; default: all")
    names = parser.parse_args().names or list(CHOSEN)
    unknown = [name for name in names if name not in CHOSEN]
    if unknown:
        parser.error(f"unknown workload {unknown[0]!r}; known: {', '.join(CHOSEN)}")
    if "RANK" in os.environ:
        run_here(names)
        return 0
    launcher = (sys.executable, "-m", "oneflow.distributed.launch")
    return subprocess.call([*launcher, "--nproc_per_node", str(PROCESSES), __file__, *names])


if __name__ == "__main__":
    sys.exit(main())
