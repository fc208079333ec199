"""The time that a new process takes: the import and the first training step, eager and as a graph.

Steps are measured with a cold and with a warm compilation cache.

    python benchmarks/cold_start.py [workload]      # default: resnet50
    python benchmarks/cold_start.py mobilenet_v2 --five

With `--five`: the first five eager steps together, and when steps take no longer than later ones,
beside PyTorch's and those of a step that is written by hand in JAX.

Every figure comes from a process of its own, and with the modules' bytecode at hand, which an
installed package brings along (compiling the sources takes a quarter of a second).
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
# The time for steps; by then they are hot.
HOT_SECONDS = 60

FIRST_STEP = """
import sys, time
sys.path.insert(0, {folder!r})
import importlib
import oneflow
from benchmarks.models import training
oneflow.manual_seed(0)
module = importlib.import_module("benchmarks.models.{name}")
step = module.build(oneflow, make_step=training.{kind}_step)
start = time.perf_counter()
float(step().sum().item())
print(time.perf_counter() - start)
"""

FIVE_STEPS = """
import statistics, sys, time
sys.path.insert(0, {folder!r})
import importlib
module = importlib.import_module("benchmarks.{module}")
if {library!r} == "jax":
    import jax
    step = module.build()
    finish = jax.block_until_ready
else:
    library = importlib.import_module({library!r})
    library.manual_seed(0)
    step = module.build(library)
    finish = lambda loss: loss.sum().item()
start = time.perf_counter()
ends = [0.0]
while ends[-1] < {seconds} or len(ends) < 12:
    finish(step())
    ends.append(time.perf_counter() - start)
steps = [after - before for before, after in zip(ends, ends[1:])]
hot = statistics.median(steps[-5:])
slow = max((index for index, each in enumerate(steps[:-5]) if each > 1.5 * hot), default=-1)
print(ends[5], ends[slow + 1], hot)
"""

IMPORT = (
    "import time; start = time.perf_counter(); import {package}; print(time.perf_counter() - start)"
)


# Empty means off: a checkout gets its bytecode from the first import.
KEEP_BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}


def seconds(code: str, environment: dict[str, str]) -> float:
    """The number that `code` prints in a new process."""
    return numbers(code, environment)[-1]


def numbers(code: str, environment: dict[str, str]) -> list[float]:
    """The numbers that `code` prints in a new process."""
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **KEEP_BYTECODE, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return list(map(float, run.stdout.split()))


def import_times(rounds: int = 9) -> dict[str, float]:
    """Median seconds to import JAX and OneFlow, alternating, after one that does not count."""
    times: dict[str, list[float]] = {"jax": [], "oneflow": []}
    seconds(IMPORT.format(package="oneflow"), {})
    for _ in range(rounds):
        for package, values in times.items():
            values.append(seconds(IMPORT.format(package=package), {}))
    return {package: statistics.median(values) for package, values in times.items()}


def first_steps(name: str, kind: str) -> tuple[float, float]:
    """Seconds of the first step with an empty cache, and in a second process with a full one."""
    code = FIRST_STEP.format(folder=str(HERE.parent), name=name, kind=kind)
    with tempfile.TemporaryDirectory() as folder:
        environment = {"ONEFLOW_CACHE_DIR": folder}
        return seconds(code, environment), seconds(code, environment)


def print_five_steps(name: str) -> None:
    """Print a line for each library."""
    print("| library | first five steps s | hot after s | hot step ms |\n|---|---|---|---|")
    for library in ("oneflow", "torch", "jax"):
        module = f"jax_steps.{name}" if library == "jax" else f"models.{name}"
        code = FIVE_STEPS.format(
            folder=str(HERE.parent), library=library, module=module, seconds=HOT_SECONDS
        )
        five, until_hot, hot = numbers(code, {"ONEFLOW_CACHE_DIR": "off"})
        print(f"| {library} | {five:.1f} | {until_hot:.1f} | {hot * 1e3:.0f} |", flush=True)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", nargs="?", default="resnet50")
    parser.add_argument("--five", action="store_true", help="the first five eager steps")
    options = parser.parse_args()
    if options.five:
        print_five_steps(options.workload)
        return
    imports = import_times()
    ratio = imports["oneflow"] / imports["jax"]
    print(
        f"import jax {imports['jax']:.3f} s, import oneflow {imports['oneflow']:.3f} s, "
        f"ratio {ratio:.2f}"
    )
    for kind in ("eager", "graph"):
        cold, warm = first_steps(options.workload, kind)
        print(
            f"first {options.workload} step, {kind}: cold cache {cold:.1f} s, "
            f"warm cache {warm:.1f} s"
        )


if __name__ == "__main__":
    main()
