"""The table of JAX's primitives."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneflow.base.function_table import FunctionTable
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import Shape


@dataclass(frozen=True, eq=False)
class Equation:
    """One step of an implementation.

    Attributes:
        name: JAX's primitive.
        params: its parameters.
        operands: the values that it reads.
        shapes: the shapes of its results.
        dtypes: the dtypes of its results.
    """

    name: str
    params: Mapping[str, Any]
    operands: Sequence[Ref]
    shapes: Sequence[Shape]
    dtypes: Sequence[np.dtype]

    @property
    def shape(self) -> Shape:
        """The shape of its first result."""
        return self.shapes[0]

    @property
    def dtype(self) -> np.dtype:
        """The dtype of its first result."""
        return self.dtypes[0]

    def __getitem__(self, name: str) -> Any:
        """A parameter."""
        return self.params[name]


EquationLowering = Callable[[OnnxBuilder, Equation], "Ref | Sequence[Ref]"]

EQUATIONS: FunctionTable[EquationLowering] = FunctionTable("a lowering of JAX's primitive")
equation_lowering = EQUATIONS.register
# Imported for a primitive that is not in the table; most exports do without.
_DECOMPOSITIONS = "oneflow_onnx.oneflow2onnx.decompositions.real"


def find_equation(name: str) -> EquationLowering | None:
    """Return how JAX's primitive of this name is written; None if ONNX has no counterpart."""
    if name not in EQUATIONS:
        importlib.import_module(_DECOMPOSITIONS)
    return EQUATIONS.get(name)
