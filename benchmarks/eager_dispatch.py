"""Microseconds per operator of chains of small operators: the cost of a call.

    python -m benchmarks.eager_dispatch

OneFlow, PyTorch's eager mode and JAX without `jit`, in turns, each in a process of its own.
Gradients are asked for or not in the first two; JAX, where one asks for the gradient of a function,
has no such calls.
"""

from __future__ import annotations

import argparse
import functools
import importlib
from collections.abc import Callable
from typing import Any

from benchmarks.rivals import measure
from benchmarks.workloads import Workload

LENGTH = 100
# Calls of a chain in a round.
STEPS = 50
LIBRARIES = ("oneflow", "torch", "jax.numpy")


def operators(x: Any, y: Any, tanh: Callable) -> Any:
    """Products, sums and tangents of small matrices."""
    result = x
    for _ in range(LENGTH // 4):
        result = result * 0.5
        result = result + y
        result = tanh(result)
        result = result - x
    return result


def views(x: Any) -> Any:
    """Transposed matrices, other shapes of them, and rows that are removed and put back."""
    result = x
    for _ in range(LENGTH // 5):
        result = result.T
        result = result.reshape(-1)
        result = result.reshape(8, 8)
        result = result[None]
        result = result[0]
    return result


def chain(workload: Workload, library: str) -> Callable:
    """One pass over a chain, with a read at the end."""
    module = importlib.import_module(library)
    if library == "jax.numpy":
        x, y = module.ones((8, 8)), module.ones((8, 8))
    else:
        x = module.ones(8, 8, requires_grad=workload.name == "with gradients")
        y = module.ones(8, 8)
    run = functools.partial(views, x)
    if workload.name != "views":
        run = functools.partial(operators, x, y, module.tanh)
    return lambda: run().sum()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    print("| chain | oneflow us | torch us | jax.numpy us | / torch | / jax.numpy |")
    print(f"|{'---|' * 6}", flush=True)
    for name in ("operators", "with gradients", "views"):
        libraries = [
            library for library in LIBRARIES if (name, library) != ("with gradients", "jax.numpy")
        ]
        seconds = measure(chain, Workload(name, steps=STEPS, rounds=rounds), libraries)
        cells = [
            f"{seconds[library] / LENGTH * 1e6:.2f}" if library in seconds else ""
            for library in LIBRARIES
        ]
        ratios = [
            f"{seconds['oneflow'] / seconds[library]:.2f}" if library in seconds else ""
            for library in LIBRARIES[1:]
        ]
        print(f"| {name} | {' | '.join(cells + ratios)} |", flush=True)


if __name__ == "__main__":
    main()
