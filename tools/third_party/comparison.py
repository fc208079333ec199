"""Comparing what a case gave on two libraries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

#: How far values may be apart, relative to the largest of the array.
TOLERANCE = 1e-4
_SHOWN = 4


def difference(values: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> str:
    """Describe what differs; nothing if all is equal.

    Names of arrays begin with their kind, as ``gradient`` in ``gradient: weight``.
    """
    if missing := expected.keys() ^ values.keys():
        return f"only one has {sorted(missing)[:_SHOWN]}"
    largest: dict[str, float] = defaultdict(float)
    for name in expected:
        kind = name.partition(":")[0]
        largest[kind] = max(largest[kind], _largest(expected[name]))
    found = []
    for name in expected:
        noise = _noise(expected[name]) * largest[name.partition(":")[0]]
        scale = max(_largest(expected[name]), noise)
        if text := _difference(np.asarray(values[name]), expected[name], scale):
            found.append(f"{name}: {text}")
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return "; ".join(found[:_SHOWN]) + more


def _noise(array: np.ndarray) -> float:
    """The size, beside others of their kind, below which values of an array are mere rounding."""
    return 10 * float(np.finfo(array.dtype).eps) ** 0.5 if array.dtype.kind in "fc" else 0.0


def _largest(array: np.ndarray) -> float:
    if array.dtype.kind not in "fc":
        return 0.0
    finite = np.abs(array[np.isfinite(array)])
    return float(finite.max()) if finite.size else 0.0


def _difference(array: np.ndarray, expected: np.ndarray, scale: float) -> str:
    kinds = [x.dtype.kind if x.dtype.kind == "U" else x.dtype for x in (array, expected)]
    if array.shape != expected.shape or kinds[0] != kinds[1]:
        return f"{array.dtype}{array.shape} in place of {expected.dtype}{expected.shape}"
    if array.dtype.kind not in "fc":
        if np.array_equal(array, expected):
            return ""
        return f"{_shown(array)} in place of {_shown(expected)}"
    unlike = ~np.isclose(array, expected, rtol=0, atol=TOLERANCE * scale, equal_nan=True)
    if not unlike.any():
        return ""
    where = tuple(int(index) for index in np.argwhere(unlike)[0])
    return (
        f"{int(unlike.sum())} of {array.size} values differ, at {where} "
        f"{array[where]} in place of {expected[where]}"
    )


def _shown(array: np.ndarray) -> str:
    text = " ".join(str(array.tolist()).split())
    return text if len(text) < 200 else text[:197] + "..."
