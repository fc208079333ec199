"""Peak memory of a training step, each library in a process of its own.

    python benchmarks/memory.py [workload ...]      # default: resnet50 gpt

The figure is the highest resident memory during three warm steps less what was resident after the
import: parameters, optimizer state, activations and gradients, and whatever the library keeps for
itself. Warm means that oneflow has compiled the step and run it compiled once: that run lets go of
what compiling and the steps before it needed. Linux only.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
STATUS = Path("/proc/self/status")
WARM_UP = 8


def resident(field: str) -> float:
    """`VmRSS` (now) or `VmHWM` (peak) of this process, in MiB."""
    line = next(text for text in STATUS.read_text().splitlines() if text.startswith(field))
    return int(line.split()[1]) / 1024


def reset_peak() -> None:
    """Make the kernel count the peak from now on."""
    Path("/proc/self/clear_refs").write_text("5")


def child(library_name: str, workload: str) -> None:
    """Measure in this process and print the figure."""
    sys.path.insert(0, str(HERE.parent))
    library = importlib.import_module(library_name)
    library.ones(1).sum().item()
    base = resident("VmRSS")
    step = importlib.import_module(f"benchmarks.models.{workload}").build(library)
    for _ in range(WARM_UP):
        step().item()
        if library_name == "oneflow":
            library.eager.synchronize()
    reset_peak()
    for _ in range(3):
        step().item()
    print(resident("VmHWM") - base)


def measure(library_name: str, workload: str) -> float:
    """Peak MiB of one library on one workload."""
    command = [sys.executable, __file__, "--child", library_name, workload]
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
    print("| step | oneflow MiB | torch MiB | ratio |")
    print("|---|---|---|---|", flush=True)
    for workload in options.workloads:
        ours, theirs = measure("oneflow", workload), measure("torch", workload)
        print(f"| {workload} | {ours:.0f} | {theirs:.0f} | {ours / theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
