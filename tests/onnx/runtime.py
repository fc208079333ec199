"""Exported models in ONNX Runtime, compared with what OneFlow gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime

import oneflow as flow
from oneflow import nn
from oneflow_onnx.oneflow2onnx.exporting import ExportOptions, export_model
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx
from tests.oracle import flat_tensors


class Wrapped(nn.Graph):
    """A graph around a module or function."""

    def __init__(self, model) -> None:
        super().__init__()
        self.model = model

    def build(self, *args):
        return self.model(*args)


def exported(model: Any, args: Sequence[Any], **options: Any) -> onnx.ModelProto:
    """The model in ONNX, after the checker; `options` are those of `ExportOptions`."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the model is exported in opset")
        proto = ir.to_proto(export_model(model, args, options=ExportOptions(**options)))
    onnx.checker.check_model(proto, full_check=True)
    return proto


def session_of(proto: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """A session that runs it, quietly."""
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    settings.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        proto.SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )


def run(session: onnxruntime.InferenceSession, tensors: Sequence[flow.Tensor]) -> list[np.ndarray]:
    """The outputs for these inputs, in order."""
    names = [model_input.name for model_input in session.get_inputs()]
    return session.run(None, {n: t.numpy() for n, t in zip(names, tensors, strict=True)})


def difference(results: Sequence[np.ndarray], expected: Any, tolerance: float) -> str | None:
    """Say how results differ, relative to the spread of what was expected; None if they do not."""
    wanted = [tensor.detach().numpy() for tensor in flat_tensors(expected)]
    if len(results) != len(wanted):
        return f"{len(results)} outputs instead of {len(wanted)}"
    for place, (mine, theirs) in enumerate(zip(results, wanted, strict=True)):
        problem = _difference(np.asarray(mine), theirs, tolerance)
        if problem is not None:
            return f"output {place}: {problem}"
    return None


def _difference(mine: np.ndarray, theirs: np.ndarray, tolerance: float) -> str | None:
    if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
        return f"{mine.dtype}{mine.shape} instead of {theirs.dtype}{theirs.shape}"
    if mine.dtype.kind in "iub":
        return None if np.array_equal(mine, theirs) else f"{mine!r} instead of {theirs!r}"
    mine, theirs = mine.astype(np.float64), theirs.astype(np.float64)
    finite = np.isfinite(theirs)
    if not np.array_equal(mine[~finite], theirs[~finite], equal_nan=True):
        return f"{mine!r} instead of {theirs!r}"
    if not finite.any():
        return None
    spread = max(theirs[finite].std(), np.abs(theirs[finite]).max() * 0.1, 1e-2)
    error = np.abs(mine[finite] - theirs[finite]).max() / spread
    return None if error <= tolerance else f"an error of {error:.2g} of the spread"


def assert_exported(
    model: Callable[..., Any],
    *args: Any,
    others: Sequence[Sequence[Any]] = (),
    tolerance: float = 1e-4,
    **options: Any,
) -> onnx.ModelProto:
    """Check that ONNX Runtime gives what the model gives, also for `others`; return the ONNX."""
    proto = exported(model, args, **options)
    session = session_of(proto)
    for given in (args, *others):
        problem = difference(run(session, flat_tensors(list(given))), model(*given), tolerance)
        assert problem is None, problem
    return proto


def assert_round_trip(
    proto: onnx.ModelProto, model: nn.Module, *args: Any, tolerance: float = 1e-4
) -> None:
    """Check that the import of a module's export gives the same, with as many parameters."""
    back = from_onnx(proto)
    results = [tensor.detach().numpy() for tensor in flat_tensors(back(*args))]
    problem = difference(results, model(*args), tolerance)
    assert problem is None, problem
    counts = [sum(parameter.numel() for parameter in m.parameters()) for m in (model, back)]
    assert counts[0] == counts[1], f"{counts[1]} parameters instead of {counts[0]}"


def operators_of(proto: onnx.ModelProto) -> list[str]:
    """The operators of a model's nodes but constants, in order."""
    return [node.op_type for node in proto.graph.node if node.op_type != "Constant"]
