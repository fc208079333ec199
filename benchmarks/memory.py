"""Peak memory of a training step, each rival in a process of its own.

The rivals are OneFlow, eager and as a graph, PyTorch, and a hand-written, donated `jax.jit` step.

    python benchmarks/memory.py [workload ...]      # default: resnet50 gpt

The figure is the highest resident memory during three warm steps less what was resident after the
import: parameters, optimizer state, activations and gradients, and whatever the rival keeps for
itself. Warm means that oneflow has compiled the step and run it compiled once: that run lets go of
what compiling and the steps before it needed. Linux only.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.rivals import RIVALS, training_step, warm_up
from benchmarks.workloads import WORKLOADS

COMPARED = ("oneflow", "graph", "torch", "jax.jit")
STATUS = Path("/proc/self/status")


def resident(field: str) -> float:
    """`VmRSS` (now) or `VmHWM` (peak) of this process, in MiB."""
    line = next(text for text in STATUS.read_text().splitlines() if text.startswith(field))
    return int(line.split()[1]) / 1024


def reset_peak() -> None:
    """Make the kernel count the peak from now on."""
    Path("/proc/self/clear_refs").write_text("5")


def library_of(rival: str) -> Any:
    """The module in which the rival's operators are."""
    return importlib.import_module(RIVALS[rival].library if rival in RIVALS else "jax.numpy")


def child(rival: str, workload: str) -> None:
    """Measure in this process and print the figure."""
    library = library_of(rival)
    library.ones(1).sum().item()
    base = resident("VmRSS")
    (chosen,) = (candidate for candidate in WORKLOADS if candidate.name == workload)
    step = training_step(chosen, rival)
    for _ in range(2):
        warm_up(step, rival)
    reset_peak()
    for _ in range(3):
        step().item()
    print(resident("VmHWM") - base)


def measure(rival: str, workload: str) -> float:
    """Peak MiB of one rival on one workload."""
    command = [sys.executable, __file__, "--child", rival, workload]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(run.stdout.split()[-1])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", default=["resnet50", "gpt"])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.workloads[0])
        return
    heads = [f"{rival} MiB" for rival in COMPARED]
    print(f"| step | {' | '.join(heads)} | oneflow / torch | graph / jax |")
    print(f"|{'---|' * 7}", flush=True)
    for workload in options.workloads:
        peaks = {rival: measure(rival, workload) for rival in COMPARED}
        cells = [f"{peak:.0f}" for peak in peaks.values()]
        cells += [f"{peaks['oneflow'] / peaks['torch']:.2f}"]
        cells += [f"{peaks['graph'] / peaks['jax.jit']:.2f}"]
        print(f"| {workload} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
