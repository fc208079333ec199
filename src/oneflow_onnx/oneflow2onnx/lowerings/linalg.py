"""Determinants, and checks of decompositions; `equations` has the decompositions themselves."""

from __future__ import annotations

import numpy as np

from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call, Unsupported, lowering
from oneflow_onnx.oneflow2onnx.reference import Ref


@lowering("check_info")
def _check_info(b: OnnxBuilder, call: Call) -> Ref:
    """The matrix, whatever the check would say: a file cannot raise."""
    return call.operands[0]


@lowering("det")
def _det(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    # Determinants of up to three rows are written as formulas.
    if x.dtype != np.float32 or x.shape[-1] in (0, 1, 2, 3):
        raise Unsupported("determinants of a type for which runtimes have no `Det`")
    return b.op("Det", x, shape=call.result.shape)
