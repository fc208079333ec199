"""Functions give with global tensors what they give with local ones, however they lie.

Results, gradients and in-place forms of the operator table; `--exhaustive` tries every case of
every operator, else the first case of a few operators. All tensors of a call lie alike on
two devices, or each differently on a grid of four.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import oneflow as flow
from oneflow.base.placement import Sharding
from oneflow.tensor import Tensor
from oneflow.tensor.transfer import import_array
from tests.oracle import (
    FLOW,
    Arguments,
    Library,
    array_difference,
    differentiated,
    dtype_name,
    eager_mode,
    flat_tensors,
    to_numpy,
)
from tests.samples.table import Case, Operator, TensorSample, operators

PAIR = flow.placement("cpu", [0, 1])
GRID = flow.placement("cpu", [[0, 1], [2, 3]])
LAYOUTS = {
    "split": flow.sbp.split(0),
    "broadcast": flow.sbp.broadcast,
    "partial sum": flow.sbp.partial_sum,
    "grid": None,
}
# Their tensors are read: they make a local tensor of the numbers.
READING = ("from_numpy", "tensor")
# Refused for global tensors, as in OneFlow 1.0: what the message says, by operator.
REFUSED = {"Tensor.to": "to(other) takes local tensors"}

Outcome = tuple[list[np.ndarray | None], list[Tensor | None]]


def library_of(layout: str, name: str) -> Library:
    """OneFlow with global tensors that lie like that where they can; the name is for the grid."""
    rng = random.Random(name)

    def make(array: np.ndarray) -> Tensor:
        splits = [flow.sbp.split(dim) for dim in range(array.ndim)]
        sums = [] if array.dtype.kind == "b" else [flow.sbp.partial_sum]
        if layout == "grid":
            chosen = rng.choices([flow.sbp.broadcast, *splits, *splits], k=2)
            return import_array(array, None, Sharding(GRID, tuple(chosen)))
        can = LAYOUTS[layout] in (*splits, *sums)
        return import_array(
            array, None, Sharding(PAIR, (LAYOUTS[layout] if can else flow.sbp.broadcast,))
        )

    return Library(flow, make, FLOW.gradients)


def samples_of(value: Any) -> Iterator[TensorSample]:
    """The tensor samples in an argument."""
    if isinstance(value, TensorSample):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from samples_of(part)


def layouts_of(case: Case) -> list[str]:
    """The layouts that the tensors of a case may have."""
    samples = list(samples_of([*case.args, *case.kwargs.values()]))
    # Sums of parts know neither infinities nor negative zeros.
    odd = any(
        not np.isfinite(number) or (number == 0 and np.signbit(number))
        for sample in samples
        if sample.values is not None
        for number in np.ravel(np.asarray(sample.values, np.complex128)).view(np.float64)
    )
    return [layout for layout in LAYOUTS if samples and not (odd and layout == "partial sum")]


def result_of(library: Library, row: Operator, arguments: Arguments) -> list[Tensor | None]:
    """The tensors that a call returns."""
    return flat_tensors(library.function(row)(*arguments.args, **arguments.kwargs))


def gradients_of(library: Library, row: Operator, arguments: Arguments) -> list[Tensor | None]:
    """The gradients of a call's tensors."""
    _, levels = differentiated(library, row, arguments, row.name, 1)
    return levels[0]


def outcome(
    deed: Any, library: Library, row: Operator, case: Case, dtype: str
) -> Outcome | Exception:
    """The result of a call, read, or the exception it raised."""
    flow.manual_seed(0)
    # Outside: a sample that cannot be made would pass for a call that is refused.
    arguments = library.arguments(case, dtype, f"{row.name}{case!r}", deed is gradients_of)
    try:
        tensors = deed(library, row, arguments)
        return [None if tensor is None else to_numpy(tensor) for tensor in tensors], tensors
    except Exception as error:
        return error


def difference(found: Outcome | Exception, expected: Outcome | Exception, row: Operator) -> str:
    """The difference of a call with global tensors from that with local ones, or ""."""
    if isinstance(found, Exception) or isinstance(expected, Exception):
        alike = isinstance(expected, Exception) and isinstance(found, type(expected))
        refused = row.name in REFUSED and REFUSED[row.name] in str(found)
        return "" if alike or refused else f"gives {found!r}, locally {expected!r}"
    if len(found[0]) != len(expected[0]):
        return f"gives {len(found[0])} tensors, locally {len(expected[0])}"
    for mine, theirs, tensor, local in zip(
        found[0], expected[0], found[1], expected[1], strict=True
    ):
        if tensor is None or local is None:
            problem = "" if tensor is local else f"gives {tensor!r}, locally {local!r}"
        elif (mine.shape, tensor.dtype) != (theirs.shape, local.dtype):
            problem = f"{tensor.dtype}{mine.shape}, locally {local.dtype}{theirs.shape}"
        elif row.name not in READING and not tensor.is_global:
            problem = f"not a global tensor: {tensor!r}"
        elif row.values:
            problem = array_difference(mine, theirs, dtype_name(tensor), row.tolerance)
        else:
            problem = ""
        if problem:
            return f"{problem} ({tensor!r})"
    return ""


def deeds_of(row: Operator, is_first: bool) -> Iterator[tuple[str, Any, Operator, str]]:
    """The actions on a case: a name, a function, the row it takes and the dtype."""
    yield "result", result_of, row, row.dtypes[0]
    for dtype in row.gradient_dtypes[:1]:
        yield "gradients", gradients_of, row, dtype
    if is_first and row.variants and hasattr(Tensor, f"{row.name}_"):
        in_place = replace(row, name=f"Tensor.{row.name}_", call=None)
        yield "in place", result_of, in_place, row.dtypes[0]


def problems_of(row: Operator, exhaustive: bool) -> Iterator[str]:
    for index, case in enumerate(row.cases if exhaustive else row.cases[:1]):
        for name, deed, tried, dtype in deeds_of(row, not index):
            expected = outcome(deed, FLOW, tried, case, dtype)
            for layout in layouts_of(case):
                library = library_of(layout, f"{tried.name}{case}")
                found = outcome(deed, library, tried, case, dtype)
                problem = difference(found, expected, tried)
                if problem:
                    yield f"{tried.name}{case} in {dtype}, {name} of {layout}: {problem}"


@pytest.mark.one_in(250)
@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{family}-{row.name}") for family, row in operators()]
)
def test_global_tensors_give_what_local_ones_give(row: Operator, exhaustive: bool) -> None:
    with eager_mode("cold"):
        problems = list(problems_of(row, exhaustive))
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)
