"""Random numbers on the host, drawn from a `Generator`."""

from __future__ import annotations

import numpy as np

from oneflow.random.generator import Generator, draw


def random_numbers(generator: Generator | None = None) -> np.random.Generator:
    """Return NumPy's random numbers, started from the next draw of `generator`.

    Args:
        generator: by default the one that `oneflow.manual_seed` seeds.
    """
    return numbers_from(draw(generator))


def numbers_from(seeds: tuple[int, ...]) -> np.random.Generator:
    """NumPy's random numbers, started from integers."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seeds)))


def random_seed(generator: Generator | None = None) -> int:
    """Return a seed, drawn from `generator`.

    Args:
        generator: by default the one that `oneflow.manual_seed` seeds.
    """
    return int(random_numbers(generator).integers(2**63, dtype=np.uint64))
