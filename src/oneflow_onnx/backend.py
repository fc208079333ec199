"""ONNX's backend interface: models and single nodes, run by OneFlow.

`onnx.backend.test.BackendTest` and other tools that score backends run on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep, Device, DeviceType, namedtupledict

import oneflow as flow
from oneflow import nn
from oneflow_onnx.x2oneflow.module import ImportedModule
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx
from oneflow_onnx.x2oneflow.values import Value, as_host, as_tensor, fits_tensor


class PreparedModel(BackendRep):
    """An imported model that takes and returns NumPy arrays.

    Args:
        module: the model.
        device: where it runs.
        compiled: record it as a graph. A model that cannot be recorded, since it reads values or
            takes something else than tensors, runs operator by operator all the same.
    """

    def __init__(self, module: ImportedModule, device: flow.device, compiled: bool = False) -> None:
        self.module = module.to(device)
        self._device = device
        self._graph = _Network(self.module) if compiled else None

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the outputs for `inputs`, a sequence in the model's order, or a mapping."""
        if isinstance(inputs, dict):
            named = inputs
        else:
            named = dict(zip(self.module.input_names, inputs, strict=False))
        values = {name: self._as_values(value) for name, value in named.items()}
        for name in self.module.input_names:
            values.setdefault(name, None)
        with flow.no_grad():
            outputs = [as_host(value) for value in self._outputs(values)]
        return namedtupledict("Outputs", self.module.output_names)(*outputs)

    def _outputs(self, values: dict[str, Value]) -> list[Value]:
        tensors = [values[name] for name in self.module.input_names]
        if self._graph is not None and all(isinstance(tensor, flow.Tensor) for tensor in tensors):
            try:
                return list(self._graph(*tensors))
            except (RuntimeError, TypeError):
                # Eager mode computes it, or says what is wrong with the inputs.
                self._graph = None
        return self.module.run(values)

    def _as_values(self, value: Any) -> Value:
        if isinstance(value, list):
            return [self._as_values(element) for element in value]
        array = value if value is None else np.asarray(value)
        if array is None or not fits_tensor(array):
            return array
        return as_tensor(array).to(self._device)


class _Network(nn.Graph):
    """A module as a graph; it returns its outputs as a tuple."""

    def __init__(self, module: ImportedModule) -> None:
        super().__init__()
        self.module = module

    def build(self, *tensors: flow.Tensor) -> tuple[Any, ...]:
        """Compute the outputs."""
        outputs = self.module(*tensors)
        return outputs if isinstance(outputs, tuple) else (outputs,)


class OneflowBackend(Backend):
    """OneFlow as a backend of ONNX."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> PreparedModel:
        """Import `model`, and return what runs it on `device`, ``"CPU"`` or ``"CUDA"``.

        A network, which has initializers, is compiled as a graph; single operators are not, since
        that would take longer than they do.
        """
        compiled = len(model.graph.initializer) > 0
        return PreparedModel(from_onnx(model), _device(device), compiled)

    @classmethod
    def run_model(
        cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any
    ) -> tuple[Any, ...]:
        """Import `model` and run it once."""
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Run one node; `opset_version` among `kwargs` chooses the operator set."""
        version = kwargs.get("opset_version", onnx.defs.onnx_opset_version())
        names = [name for name in node.input if name]
        graph = helper.make_graph(
            [node],
            "node",
            [onnx.ValueInfoProto(name=name) for name in dict.fromkeys(names)],
            [onnx.ValueInfoProto(name=name) for name in node.output if name],
        )
        opsets = [helper.make_opsetid(node.domain, version)]
        return cls.run_model(helper.make_model(graph, opset_imports=opsets), inputs, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return True if models can run on `device`."""
        kind = Device(device).type
        return kind == DeviceType.CPU or (
            kind == DeviceType.CUDA and bool(flow.cuda.is_available())
        )


def _device(name: str) -> flow.device:
    device = Device(name)
    if not OneflowBackend.supports_device(name):
        raise ValueError(f"`device` is {name!r}; it is not available here")
    return flow.device("cpu" if device.type == DeviceType.CPU else "cuda", device.device_id)


prepare = OneflowBackend.prepare
run_model = OneflowBackend.run_model
run_node = OneflowBackend.run_node
supports_device = OneflowBackend.supports_device
