"""Sample calls at special points, and where they are known to differ from PyTorch's.

A line of ``special_points.tsv`` has the order, 0 for the values and 1 or 2 for the gradients that
are the first to differ; the operator; dtypes and points, several with "|" between them; and the
reason. A line that no longer holds is an error.
"""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.samples.table import Case, Operator, TensorSample

LIST = Path(__file__).with_name("special_points.tsv")
IDENTITY = "identity"
# The elements of tensors: zeros of either sign, ties, kinks and borders, whole numbers.
FILLS: dict[str, tuple[complex, ...]] = {
    "zeros": (0.0,),
    "negative zeros": (-0.0,),
    "ones": (1.0,),
    "minus ones": (-1.0,),
    "whole": (-2.0, -1.0, 0.0, 1.0, 2.0, 1.0, 0.0),
    "mixed": (0.0, 0.5, 1.0, -0.5, -1.0, 0.0, -0.0, 3.0, -3.0),
    "tiny": (1e-40, -1e-40),
    IDENTITY: (0.0, 1.0),  # of the last two dimensions: matrices with equal singular values
}
COMPLEX_FILLS = {"complex": (0.0, 1j, -1j, 1.0, -1.0, 1 + 1j, -0.5j, -1 - 2j)}


def special_cases(row: Operator, dtype: str) -> Iterator[tuple[str, Case, str]]:
    """Cases of a row with special numbers in place of random ones, as ``(dtype, case, points)``."""
    fills = {**FILLS, **(COMPLEX_FILLS if "complex" in dtype else {})}
    seen = set()
    for case in row.cases:
        for fill, numbers in fills.items():
            special = _filled_case(case, fill, numbers)
            if repr(special) != repr(case) and repr(special) not in seen:
                seen.add(repr(special))
                yield dtype, special, fill


def _filled_case(case: Case, fill: str, numbers: tuple[complex, ...]) -> Case:
    generator = random.Random(f"{case!r}{fill}")

    def filled(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(filled(part) for part in value)
        is_free = isinstance(value, TensorSample) and value.grad and value.dtype is None
        return _filled_sample(value, fill, numbers, generator) if is_free else value

    kwargs = {name: filled(value) for name, value in case.kwargs.items()}
    return Case(tuple(map(filled, case.args)), kwargs)


def _filled_sample(
    sample: TensorSample, fill: str, numbers: tuple[complex, ...], generator: random.Random
) -> TensorSample:
    """Samples with values of their own keep them: those are chosen with care."""
    count = math.prod(sample.shape)
    if sample.values is not None or not count:
        return sample
    if fill == IDENTITY:
        rows = np.eye(*(1, 1, *sample.shape)[-2:])
        values = np.resize(rows, sample.shape).tolist()
        return replace(sample, values=values, layout="contiguous", distinct=False)
    chosen = np.array([generator.choice(numbers) for _ in range(count)])
    if sample.low >= 0:  # what only takes numbers that are not negative, or no larger than 1
        chosen = np.abs(chosen)
    if sample.low >= 0 and sample.high <= 1:
        chosen = np.minimum(chosen, 1)
    values = chosen.reshape(sample.shape).tolist()
    return replace(sample, values=values, layout="contiguous", distinct=False)


@dataclass(frozen=True)
class KnownDifference:
    """A line of the list."""

    order: int
    operator: str
    dtypes: frozenset[str]
    points: frozenset[str]

    def covers(self, dtype: str, points: str) -> bool:
        """Return True if calls in a dtype at these points may differ."""
        return dtype in self.dtypes and points in self.points


def _read() -> list[KnownDifference]:
    with LIST.open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        KnownDifference(int(order), name, frozenset(dtypes.split("|")), frozenset(fills.split("|")))
        for order, name, dtypes, fills, _reason in lines
    ]


_KNOWN = _read()


def known_differences(row: Operator, output: int | None = None) -> list[KnownDifference]:
    """The lines of an operator, or those of one of its outputs alone: of ``name[output]``."""
    name = row.name if output is None else f"{row.name}[{output}]"
    return [known for known in _KNOWN if known.operator == name]
