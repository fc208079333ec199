"""A law for every operator of the table that takes `out=`: what is written where is PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tests.laws.test_operators import every_operator
from tests.oracle import FLOW, TORCH, Library, difference, eager_mode, flat_tensors
from tests.samples.table import Case, Operator

# Rows of which the law does not hold.
SKIPPED = {
    "empty": "its values are any",
    "fft.fftfreq": "PyTorch's numbers are others in a view",
    "kthvalue": "PyTorch does not write to the memory of a view that it gives another shape",
    "nonzero": "PyTorch writes by columns",
    "nn.functional.gelu": "PyTorch writes nothing to a view",
    "nn.functional.avg_pool3d": "PyTorch writes to other places of a view",
}
# PyTorch gives results of LAPACK, which are stored by columns, another shape by columns.
BY_COLUMNS = (
    "inverse",
    "linalg.cholesky_ex",
    "linalg.inv",
    "linalg.inv_ex",
    "linalg.ldl_factor",
    "linalg.ldl_factor_ex",
    "linalg.lu_factor",
    "linalg.lu_factor_ex",
    "linalg.lu_solve",
    "linalg.qr",
    "linalg.solve_triangular",
    "qr",
    "svd",
    "triangular_solve",
)


class Target(NamedTuple):
    """A tensor for a result.

    Attributes:
        out: what is given as `out=`.
        memory: a tensor that shares its memory.
    """

    out: Any
    memory: Any


def _fresh(lib: Any, shape: tuple[int, ...], dtype: Any) -> Target:
    out = lib.ones(shape, dtype=dtype)
    return Target(out, out)


def _transposed(lib: Any, shape: tuple[int, ...], dtype: Any) -> Target:
    memory = lib.ones(shape[::-1], dtype=dtype)
    return Target(memory.permute(tuple(reversed(range(len(shape))))), memory)


def _part(lib: Any, shape: tuple[int, ...], dtype: Any) -> Target:
    memory = lib.ones([size + 2 for size in shape], dtype=dtype)
    return Target(memory[tuple(slice(1, size + 1) for size in shape)], memory)


def _flattened_part(lib: Any, shape: tuple[int, ...], dtype: Any) -> Target:
    memory = lib.ones((math.prod(shape) + 3, 2), dtype=dtype)
    return Target(memory[1:-2, :1], memory)


def _without_elements(lib: Any, shape: tuple[int, ...], dtype: Any) -> Target:
    return _fresh(lib, (0,), dtype)


def _flattened(lib: Any, shape: tuple[int, ...], dtype: Any) -> Target:
    return _fresh(lib, (math.prod(shape), 1), dtype)


def _too_large(lib: Any, shape: tuple[int, ...], dtype: Any) -> Target:
    return _fresh(lib, (math.prod(shape) + 2,), dtype)


def _part_too_small(lib: Any, shape: tuple[int, ...], dtype: Any) -> Target:
    memory = lib.ones((math.prod(shape) + 3,), dtype=dtype)
    return Target(memory[1:2], memory)


TARGETS: dict[str, Callable[..., Target]] = {
    "fresh": _fresh,
    "transposed": _transposed,
    "part": _part,
    "without elements": _without_elements,
    "flattened": _flattened,
    "flattened part": _flattened_part,
    "too large": _too_large,
    "part that is too small": _part_too_small,
}


pytestmark = pytest.mark.usefixtures("quiet_torch")


def _called(
    library: Library, row: Operator, case: Case, dtype: str, make: Callable[..., Target]
) -> Any:
    """The results, and what they and the memory hold; the exception if the call is refused."""
    arguments = library.arguments(case, dtype, f"{row.name}{case!r}")
    function = library.function(row)
    results = function(*arguments.args, **arguments.kwargs)
    lib = library.module
    flat = flat_tensors(results)
    targets = [make(lib, tuple(tensor.shape), tensor.dtype) for tensor in flat]
    outs = [target.out for target in targets]
    out = outs[0] if len(outs) == 1 and not isinstance(results, tuple) else tuple(outs)
    try:
        given = function(*arguments.args, **arguments.kwargs, out=out)
    except Exception as error:
        return error
    same = [a is b for a, b in zip(flat_tensors(given), outs, strict=True)]
    return same, outs, [target.memory for target in targets]


def _problem(row: Operator, case: Case, dtype: str, make: Callable[..., Target]) -> str | None:
    theirs = _called(TORCH, row, case, dtype, make)
    mine = _called(FLOW, row, case, dtype, make)
    if isinstance(theirs, Exception) or isinstance(mine, Exception):
        if isinstance(theirs, Exception) and isinstance(mine, Exception):
            return None
        return f"{mine!r}, torch {theirs!r}"
    if mine[0] != theirs[0]:
        return f"returned what was given: {mine[0]}, torch {theirs[0]}"
    return difference(mine[1], theirs[1], row.tolerance) or difference(
        mine[2], theirs[2], row.tolerance
    )


@every_operator
def test_results_are_written_as_pytorch_writes_them(row: Operator) -> None:
    if row.name in SKIPPED:
        pytest.skip(SKIPPED[row.name])
    problems, case, dtype = [], row.cases[0], row.dtypes[0]
    with eager_mode("cold"):
        try:
            is_taken = not isinstance(_called(TORCH, row, case, dtype, _fresh), Exception)
        except Exception:
            is_taken = False
        for name, make in TARGETS.items() if is_taken else ():
            if row.name in BY_COLUMNS and make in (_flattened_part, _part_too_small):
                continue
            if problem := _problem(row, case, dtype, make):
                problems.append(f"{row.name}{case} into {name}: {problem}")
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)
