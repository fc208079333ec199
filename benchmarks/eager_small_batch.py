"""Training steps per second of a small perceptron with a batch of four: the framework's own speed.

Run ``python benchmarks/eager_small_batch.py``.
"""

from __future__ import annotations

import time

from benchmarks.models import mlp


def steps_per_second(library, steps: int = 500, warm_up: int = 5) -> float:
    """Steps per second after a warm-up, with one read at the end."""
    step = mlp.build(library, batch=4, sizes=(32, 64, 64, 10))
    for _ in range(warm_up):
        step().item()
    start = time.perf_counter()
    for _ in range(steps):
        loss = step()
    loss.item()
    return steps / (time.perf_counter() - start)


def main() -> None:
    """Print both libraries' figures."""
    import torch

    import oneflow

    for library in (oneflow, torch):
        print(f"{library.__name__}: {steps_per_second(library):.0f} steps/s")


if __name__ == "__main__":
    main()
