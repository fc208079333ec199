"""First values of rows: functions of a seed and a key, the same in every process and order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from oneflow.nn.one_embedding.key_index import mixed

_STEP = np.uint64(0x9E3779B97F4A7C15)


def first_values(
    initializer: Mapping[str, Any], keys: np.ndarray, width: int, seed: int, column: int
) -> np.ndarray:
    """Return the first values of rows, float32 of shape (keys, width).

    Args:
        initializer: says their distribution.
        keys: the keys of the rows.
        width: number of elements of each.
        seed: the seed of the table.
        column: its number; different columns have different values.

    Raises:
        ValueError: the distribution is unknown.
    """
    kind = initializer["type"]
    if kind not in _DISTRIBUTIONS:
        raise ValueError(f"an initializer is one of {', '.join(_DISTRIBUTIONS)}, got {kind!r}")
    start = mixed(keys ^ np.int64(mixed(np.array([seed * 1000003 + column]))[0] >> np.uint64(1)))
    counters = start[:, None] + _STEP * np.arange(1, width + 1, dtype=np.uint64)
    return _DISTRIBUTIONS[kind](initializer, counters).astype(np.float32)


def _uniform(counters: np.ndarray) -> np.ndarray:
    """Return numbers from 0 to 1, without 0, of 53 random bits."""
    return ((mixed(counters) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def _standard_normal(counters: np.ndarray) -> np.ndarray:
    """Return normal numbers by the method of Box and Muller (1958)."""
    radius = np.sqrt(-2 * np.log(_uniform(counters)))
    return radius * np.cos(2 * np.pi * _uniform(~counters))


def _trunc_normal(initializer: Mapping[str, Any], counters: np.ndarray) -> np.ndarray:
    mean, std, low, high = (initializer[name] for name in ("mean", "std", "a", "b"))
    values = mean + std * _standard_normal(counters)
    while (outside := (values < low) | (values > high)).any():
        counters = mixed(counters)
        values[outside] = mean + std * _standard_normal(counters[outside])
    return values


_DISTRIBUTIONS: dict[str, Callable[[Mapping[str, Any], np.ndarray], np.ndarray]] = {
    "constant": lambda options, counters: np.full(counters.shape, options["value"]),
    "uniform": lambda options, counters: (
        options["low"] + (options["high"] - options["low"]) * _uniform(counters)
    ),
    "normal": lambda options, counters: (
        options["mean"] + options["std"] * _standard_normal(counters)
    ),
    "trunc_normal": _trunc_normal,
}
