"""Eager training steps of the same source on OneFlow and PyTorch, alternating in one process.

    python benchmarks/run.py                  # the quick ones
    python benchmarks/run.py --all            # with the large vision models, cold starts and memory
    python benchmarks/run.py mlp gpt          # some of them

Every figure is the median over the rounds; in a round each library runs the same number of steps,
one library after the other, so that whatever else the machine does hits both. A run reads the loss
once, at the end of its steps, as a training loop that logs now and then does.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import oneflow

sys.path.insert(0, str(Path(__file__).parents[1]))


@dataclass(frozen=True)
class Workload:
    """A row of the table.

    Attributes:
        name: what it is called.
        steps: steps per round.
        rounds: rounds of each library.
        has_jax: there is a version in JAX.
        slow: it is run only when asked for.
        model: the file in `models`, if not `name`.
        options: arguments of its `build`.
    """

    name: str
    steps: int
    rounds: int
    has_jax: bool = False
    slow: bool = False
    model: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def build(self, package: str, *libraries: Any, **options: Any) -> Callable:
        """The training step in `models` or `jax_steps`."""
        return self._module(package).build(*libraries, **self.options, **options)

    def build_jax_inference(self) -> Callable:
        """The model alone in `jax_steps`."""
        return self._module("jax_steps").build_inference(**self.options)

    def _module(self, package: str) -> Any:
        return importlib.import_module(f"benchmarks.{package}.{self.model or self.name}")


WORKLOADS = (
    Workload("mlp", 50, 15, has_jax=True),
    Workload(
        "mlp_small",
        *(50, 15),
        has_jax=True,
        model="mlp",
        options={"sizes": (64, 128, 128, 10)},
    ),
    Workload("lenet", 10, 11),
    Workload("gpt", 2, 7, has_jax=True),
    Workload("wide_deep", 10, 11),
    Workload("lstm", 2, 7),
    Workload("chain", 20, 21),
    Workload("resnet50", 1, 3, has_jax=True, slow=True),
    Workload("mobilenet_v2", 1, 5, has_jax=True, slow=True),
)


def read(result) -> float:
    """A number that depends on the whole step: forces it to finish."""
    return float(result.sum().item() if hasattr(result, "item") else result.sum())


def seconds_per_step(step: Callable, steps: int) -> float:
    """Wall-clock seconds per step over `steps` steps and one read.

    One step before does not count: what another library has left in caches and memory is not its.
    """
    read(step())
    start = time.perf_counter()
    for _ in range(steps):
        result = step()
    read(result)
    return (time.perf_counter() - start) / steps


def warm_up(step: Callable) -> None:
    """Run until every program is compiled."""
    for _ in range(4):
        read(step())
        oneflow.eager.synchronize()


def measure(workload: Workload) -> dict[str, float]:
    """Median seconds per step of each library."""
    import torch

    torch.manual_seed(0)
    oneflow.manual_seed(0)
    steps = {
        "torch": workload.build("models", torch),
        "oneflow": workload.build("models", oneflow),
    }
    if workload.has_jax:
        steps["jax"] = workload.build("jax_steps")
    for step in steps.values():
        warm_up(step)
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(workload.rounds):
        for name, step in steps.items():
            times[name].append(seconds_per_step(step, workload.steps))
    return {name: statistics.median(values) for name, values in times.items()}


def row(name: str, medians: dict[str, float]) -> str:
    """One line of the Markdown table."""
    ours = medians["oneflow"]
    libraries = ("oneflow", "torch", "jax")
    cells = [f"{medians[key] * 1e3:.2f}" if key in medians else "" for key in libraries]
    ratios = [f"{ours / medians[key]:.2f}" if key in medians else "" for key in ("torch", "jax")]
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
        print(row(workload.name, measure(workload)), flush=True)


if __name__ == "__main__":
    main()
