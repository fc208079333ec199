"""Programs of graphs, run by OpenVINO; see `oneflow.graph.engines`."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from oneflow.graph.captured_step import StepInput
from oneflow.graph.engines import UnsupportedByEngine
from oneflow.program.ir import Program
from oneflow_onnx.oneflow2onnx.assembling import ModelNames, assemble
from oneflow_onnx.oneflow2onnx.emission import emit
from oneflow_onnx.oneflow2onnx.errors import UnsupportedOperatorsError
from oneflow_onnx.oneflow2onnx.lowering import LOWERINGS
from oneflow_onnx.oneflow2onnx.reference import onnx_type
from oneflow_onnx.oneflow2onnx.trace import program_trace

# OpenVINO reads it whole, and it has normalisations and activations as single operators.
_OPSET = 21
# OpenVINO would compute in bfloat16 on processors that can; one call is to be answered fast.
_OPTIONS = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}


class OpenVinoProgram:
    """A program compiled by OpenVINO: from arrays to arrays, which the next call overwrites.

    Args:
        model: the program.
    """

    def __init__(self, model: ir.Model) -> None:
        content = ir.to_proto(model).SerializeToString()
        try:
            compiled = _core().compile_model(_core().read_model(content), "CPU", _OPTIONS)
        except RuntimeError as error:
            raise UnsupportedByEngine(f"OpenVINO refuses it: {_summary(error)}") from error
        self._request = compiled.create_infer_request()
        # An output that is also another one is listed once.
        names = [output.name for output in model.graph.outputs]
        self._outputs = [compiled.output(name) for name in names]

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the outputs for these inputs, in order."""
        results = self._request.infer(list(arrays), share_inputs=True, share_outputs=True)
        return [results[output] for output in self._outputs]


def compile_program(
    program: Program, numbers: Sequence[Any], weights: Mapping[int, Any]
) -> OpenVinoProgram:
    """Compile a program; see `oneflow.graph.engines.Connector`."""
    return OpenVinoProgram(_model(program, numbers, weights))


def write_program(program: Program, numbers: Sequence[Any], weights: Collection[int]) -> bytes:
    """Return a program as a file; see `oneflow.graph.engines.Connector`."""
    placeholders = {number: np.empty(0, np.float32) for number in weights}
    model = _model(program, numbers, placeholders)
    # A weight becomes an input of its name, until `load_program` gives it its values.
    for name in list(map(_weight_name, weights)):
        value = model.graph.initializers.pop(name, None)
        if value is not None:
            number = int(name.rpartition("_")[2])
            value.const_value = None
            value.shape = ir.Shape(program.inputs[number].shape)
            model.graph.inputs.append(value)
    return ir.to_proto(model).SerializeToString()


def load_program(content: bytes, weights: Mapping[int, np.ndarray]) -> OpenVinoProgram:
    """Compile a program from a file; see `oneflow.graph.engines.Connector`."""
    model = ir.from_proto(onnx.ModelProto.FromString(content))
    inputs = {input_.name: input_ for input_ in model.graph.inputs}
    for number, array in weights.items():
        value = inputs.get(_weight_name(number))
        if value is not None:
            model.graph.inputs.remove(value)
            value.const_value = ir.Tensor(array, onnx_type(array.dtype), name=value.name)
            model.graph.initializers[str(value.name)] = value
    return OpenVinoProgram(model)


def _weight_name(number: int) -> str:
    return f"weight_{number}"


def _model(program: Program, numbers: Sequence[Any], weights: Mapping[int, Any]) -> ir.Model:
    """The program in ONNX; `weights` are its initializers.

    Raises:
        UnsupportedByEngine: ONNX cannot express it.
    """
    sources = [
        StepInput("constant", _weight_name(index), weights[index])
        if index in weights
        else StepInput("argument", f"argument_{index}", index)
        for index in range(len(program.inputs))
    ]
    trace = program_trace(program, sources, numbers)
    names = {index: source.name for index, source in enumerate(sources)}
    inputs = {index: names[index] for index in names if index not in weights}
    emission = emit(trace, _OPSET, inputs, names, LOWERINGS, iter)
    if emission.needs:
        raise UnsupportedByEngine(f"ONNX has it in a later opset: {emission.needs[0]}")
    outputs = [f"result_{place}" for place in range(len(program.outputs))]
    try:
        return assemble(emission, trace, ModelNames("cluster", outputs, {}), {})
    except UnsupportedOperatorsError as error:
        raise UnsupportedByEngine(f"ONNX cannot express it: {error.failures[0].reason}") from error


@functools.cache
def _core() -> Any:
    """OpenVINO.

    Its import would report to its makers from a forked process, which may hang where XLA has
    threads; it does not if their package for that cannot be imported.
    """
    modules: dict[str, Any] = sys.modules
    telemetry = modules.get("openvino_telemetry")
    modules["openvino_telemetry"] = None
    try:
        return importlib.import_module("openvino").Core()
    finally:
        del modules["openvino_telemetry"]
        if telemetry is not None:
            modules["openvino_telemetry"] = telemetry


def _summary(error: Exception) -> str:
    """The last line of OpenVINO's message that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
