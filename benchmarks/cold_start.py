"""The time that a new process takes: the import and the first training step, eager and as a graph.

Steps are measured with a cold and with a warm compilation cache.

    python benchmarks/cold_start.py [workload]      # default: resnet50

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

IMPORT = (
    "import time; start = time.perf_counter(); import {package}; print(time.perf_counter() - start)"
)


# Empty means off: a checkout gets its bytecode from the first import.
KEEP_BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}


def seconds(code: str, environment: dict[str, str]) -> float:
    """The number that `code` prints in a new process."""
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **KEEP_BYTECODE, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return float(run.stdout.split()[-1])


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


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", nargs="?", default="resnet50")
    options = parser.parse_args()
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
