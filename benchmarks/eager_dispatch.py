"""Microseconds per operator of a long chain of small operators: the cost of a call.

Run ``python benchmarks/eager_dispatch.py``.
"""

from __future__ import annotations

import statistics
import time

from benchmarks.models import chain


def dispatch_microseconds(library, operations: int = 400, rounds: int = 9) -> float:
    """Median microseconds per operator, the read at the end included."""
    step = chain.build(library, length=operations, size=8)
    for _ in range(4):
        step().sum().item()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        step().sum().item()
        times.append(time.perf_counter() - start)
    return statistics.median(times) / operations * 1e6


def main() -> None:
    """Print both libraries' figures."""
    import torch

    import oneflow

    for library in (oneflow, torch):
        print(f"{library.__name__}: {dispatch_microseconds(library):.2f} us per operator")


if __name__ == "__main__":
    main()
