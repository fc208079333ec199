"""Optimizers of ONNX graphs, as passes of onnx-ir, under the names of upstream's converter."""

from onnx_ir.passes.common import (
    CommonSubexpressionEliminationPass as MergeDuplicatedNodesOptimizer,
    IdentityEliminationPass as IdentityOptimizer,
)

from oneflow_onnx.optimizer.back_to_back import BackToBackOptimizer as BackToBackOptimizer
from oneflow_onnx.optimizer.constant_folding import ConstFoldOptimizer as ConstFoldOptimizer
from oneflow_onnx.optimizer.loops import LoopOptimizer as LoopOptimizer
from oneflow_onnx.optimizer.pipeline import OptimizeGraph as OptimizeGraph
from oneflow_onnx.optimizer.transposes import TransposeOptimizer as TransposeOptimizer

__all__ = [
    "BackToBackOptimizer",
    "ConstFoldOptimizer",
    "IdentityOptimizer",
    "LoopOptimizer",
    "MergeDuplicatedNodesOptimizer",
    "OptimizeGraph",
    "TransposeOptimizer",
]
