"""On GPUs and TPUs nothing computes with 64-bit elements for those who have given none.

A TPU has no 64-bit numbers: XLA emulates them, with tens of instructions for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.extend
import pytest

from oneflow.base.x64 import in_x64
from oneflow.primitives.operation import Operation
from tests.laws.on_chips import programs_of
from tests.laws.recording import source_of
from tests.laws.test_operators import ROWS
from tests.samples.table import Operator

_WIDE = ("int64", "uint64", "float64", "complex128")
# Steps that bring constants and results into their form; XLA does them ahead or in passing.
_CONVERSIONS = ("broadcast_in_dim", "concatenate", "convert_element_type", "select_n")
# Operators that compute in double precision, so that their last digits are right.
_EXACT = (
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "erfcx", "gammainc",
    "gammaincc", "isclose", "lgamma", "linspace", "log_ndtr", "log_ndtr_gradient",
    "modified_bessel_k0", "modified_bessel_k1", "polygamma", "range_integer",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0",
)  # fmt: skip


def _is_wide(array: Any) -> bool:
    return str(getattr(array, "dtype", None)) in _WIDE and array.size > 1


def _equations(jaxpr: Any) -> Iterator[Any]:
    """The steps of a traced function, and of the functions that these call."""
    for equation in jaxpr.eqns:
        inner = list(jax.extend.core.jaxprs_in_params(equation.params))
        for called in inner:
            yield from _equations(called)
        if not inner:
            yield equation


@in_x64
def _wide_steps(operation: Operation) -> list[str]:
    """The steps with 64-bit elements of an operation on 32-bit numbers."""
    arguments = [jax.ShapeDtypeStruct(spec.shape, spec.dtype.numpy) for spec in operation.in_specs]
    traced = jax.make_jaxpr(operation.evaluate)(*arguments)
    if any(_is_wide(array) for array in (*arguments, *traced.out_avals)):
        return []
    return [
        equation.primitive.name
        for equation in _equations(traced.jaxpr)
        if equation.primitive.name not in _CONVERSIONS
        and any(_is_wide(variable.aval) for variable in equation.outvars)
    ]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("type", ["cuda", "tpu"])
@pytest.mark.parametrize("row", [pytest.param(row, id=f"{f}-{row.name}") for f, row in ROWS])
def test_elements_are_computed_with_as_few_bits_as_they_have(row: Operator, type: str) -> None:
    try:
        programs = programs_of(row, type)
    except NotImplementedError as error:
        pytest.skip(str(error))
    for program in programs:
        for instruction in program.instructions:
            operation = instruction.operation
            if source_of(operation).name not in _EXACT:
                assert not _wide_steps(operation), operation
