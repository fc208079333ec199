"""`Ref`: a value of the ONNX graph that is being built, with its type."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from oneflow_onnx.oneflow2onnx.sizes import Shape


@dataclass(frozen=True, eq=False, slots=True)
class Ref:
    """A value of the ONNX graph.

    Attributes:
        value: the value.
        dtype: NumPy dtype of its elements.
        shape: its sizes.
        constant: its elements, if they are numbers of the program; None for parameters and results.
    """

    value: ir.Value
    dtype: np.dtype
    shape: Shape
    constant: np.ndarray | None = None

    @property
    def rank(self) -> int:
        """The number of its dimensions."""
        return len(self.shape)

    @property
    def number(self) -> float | None:
        """The number that it is, if it is one constant number."""
        if self.constant is None or self.constant.size != 1:
            return None
        return self.constant.item()

    def is_filled_with(self, number: float) -> bool:
        """Return whether all its elements are constants of this value."""
        return self.constant is not None and bool((self.constant == number).all())

    @property
    def is_float(self) -> bool:
        """True if its elements are real floating point numbers (`bfloat16` included)."""
        return is_float(self.dtype)


def is_float(dtype: np.dtype) -> bool:
    """Return whether a NumPy dtype is one of real floating point numbers."""
    return dtype.kind == "f" or dtype.name == "bfloat16"


def onnx_type(dtype: np.dtype) -> ir.DataType:
    """The ONNX element type of a NumPy dtype."""
    return ir.DataType.from_numpy(dtype)
