"""Rules of loops and branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow.interpreter.numpy_function import NumpyFunction
from oneflow.interpreter.rules import dtype_of, rule, shape_of
from oneflow.primitives.trace import scan_counts


@rule("cond")
def _cond(equation: Any) -> Callable:
    branches = [NumpyFunction(branch) for branch in equation.params["branches"]]
    last = len(branches) - 1
    return lambda which, *operands: branches[min(max(int(which), 0), last)](*operands)


@rule("while")
def _while(equation: Any) -> Callable:
    params = equation.params
    condition, body = NumpyFunction(params["cond_jaxpr"]), NumpyFunction(params["body_jaxpr"])
    body_start = params["cond_nconsts"]
    carry_start = body_start + params["body_nconsts"]

    def loop(*operands: Any) -> list[Any]:
        condition_consts, body_consts = operands[:body_start], operands[body_start:carry_start]
        carried = list(operands[carry_start:])
        while (active := condition(*condition_consts, *carried)[0]).any():
            after = body(*body_consts, *carried)
            carried = after if active.all() else _where(active, after, carried)
        return carried

    return loop


def _where(which: np.ndarray, new: list[Any], old: list[Any]) -> list[Any]:
    """The elements of `new` in the batch's unfinished loops, of `old` in the others."""
    return [
        np.where(which.reshape(which.shape + (1,) * (after.ndim - which.ndim)), after, before)
        for after, before in zip(new, old, strict=True)
    ]


@rule("scan")
def _scan(equation: Any) -> Callable:
    params = equation.params
    body, length = NumpyFunction(params["jaxpr"]), params["length"]
    constants, num_carry = scan_counts(params)
    order = range(length - 1, -1, -1) if params["reverse"] else range(length)
    stacked = [(shape_of(result), dtype_of(result)) for result in equation.outvars[num_carry:]]

    def loop(*operands: Any) -> list[Any]:
        fixed = operands[:constants]
        carried = list(operands[constants : constants + num_carry])
        xs = operands[constants + num_carry :]
        outputs = [np.empty(shape, dtype) for shape, dtype in stacked]
        for step in order:
            results = body(*fixed, *carried, *[array[step] for array in xs])
            carried = results[:num_carry]
            for output, part in zip(outputs, results[num_carry:], strict=True):
                output[step] = part
        return [*carried, *outputs]

    return loop
