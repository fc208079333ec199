"""Eager training steps of the same source on OneFlow and PyTorch, in turns.

    python benchmarks/run.py                  # the quick ones
    python benchmarks/run.py --all            # with the large vision models
    python benchmarks/run.py mlp gpt          # some of them

Every figure is the median over the rounds; in a round each library, in its own process, runs the
same number of steps, one library after the other, so that whatever else the machine does hits both.
A run reads the loss once, at the end of its steps, as a training loop that logs now and then does.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.rivals import measure, training_step
from benchmarks.workloads import WORKLOADS

RIVALS = ("oneflow", "torch", "jax.jit")


def row(name: str, medians: dict[str, float]) -> str:
    """One line of the Markdown table."""
    ours = medians["oneflow"]
    cells = [f"{medians[key] * 1e3:.2f}" if key in medians else "" for key in RIVALS]
    ratios = [f"{ours / medians[key]:.2f}" if key in medians else "" for key in RIVALS[1:]]
    return f"| {name} | {' | '.join(cells + ratios)} |"


def main() -> None:
    """Run the chosen workloads and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="workloads to run; default: the quick ones")
    parser.add_argument("--all", action="store_true", help="run the slow ones as well")
    options = parser.parse_args()
    known = {workload.name: workload for workload in WORKLOADS}
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"unknown workload {unknown[0]!r}; known: {', '.join(known)}")
    chosen = [known[name] for name in options.names] or [
        workload for workload in WORKLOADS if options.all or not workload.slow
    ]
    print("| training step | oneflow ms | torch ms | jax.jit ms | / torch | / jax.jit |")
    print("|---|---|---|---|---|---|", flush=True)
    for workload in chosen:
        medians = measure(training_step, workload, RIVALS)
        print(row(workload.name, medians), flush=True)


if __name__ == "__main__":
    main()
