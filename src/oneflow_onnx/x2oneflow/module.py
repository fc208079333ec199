"""`ImportedModule`: an ONNX model as an ordinary module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

import oneflow as flow
import oneflow_onnx.x2oneflow.operators  # noqa: F401  (fills the table of operators)
from oneflow import Tensor, nn
from oneflow_onnx.x2oneflow.execution import run_prepared
from oneflow_onnx.x2oneflow.model_inputs import ModelInputs
from oneflow_onnx.x2oneflow.prepared_graph import GraphPreparer
from oneflow_onnx.x2oneflow.trainable import InitializerKind, classify
from oneflow_onnx.x2oneflow.values import Value, as_result


class ImportedModule(nn.Module):
    """A module that computes the results of an ONNX model.

    Initializers are parameters and buffers under their own names, dots separating modules, so that
    the module trains, saves and loads its state, moves between devices, is distributed with
    `to_global` and recorded by `nn.Graph` like any other. It starts in evaluation mode; while it
    trains, batch normalisation uses the batch's statistics, and dropout drops.

    Args:
        model: a model that `onnx.load` read.

    Call it with the model's inputs, by position or by name. It returns the output, or a tuple of
    several.

    Raises:
        NotImplementedError: operators are not supported; the message lists all of them.
        ValueError: the graph is not valid.

    Example:
        >>> import oneflow as flow, onnx.parser
        >>> from oneflow_onnx.x2oneflow.onnx2flow import from_onnx
        >>> model = onnx.parser.parse_model('''
        ...     <ir_version: 10, opset_import: ["": 21]>
        ...     halve (float[n, 2] x) => (float[n, 2] y) <float[2] scale = {0.5, 0.25}>
        ...     { y = Mul(x, scale) }''')
        >>> module = from_onnx(model)
        >>> module(flow.tensor([[2.0, 8.0]])).tolist()
        [[1.0, 2.0]]
        >>> [name for name, _ in module.named_parameters()]
        ['scale']
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        super().__init__()
        self._prepared = GraphPreparer(model).prepare_model()
        self._inputs = ModelInputs.of(model, self._prepared)
        self._state_names = self._register_state()
        self.eval()

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs, in order."""
        return self._inputs.names

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs, in order."""
        return list(self._prepared.outputs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; see the class."""
        outputs = [as_result(v) for v in self.run(self.bind(*args, **kwargs))]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def run(self, inputs: Mapping[str, Value]) -> list[Value]:
        """Return the outputs, as they are, for inputs by name."""
        state = {name: self._state(path) for name, path in self._state_names.items()}
        return run_prepared(self._prepared, {**state, **inputs}, self.training)

    def extra_repr(self) -> str:
        """Return the signature of the model."""
        return f"{', '.join(self.input_names)} -> {', '.join(self.output_names)}"

    def bind(self, *args: Value, **kwargs: Value) -> dict[str, Value]:
        """Return the inputs by name; raise for missing, unknown or unfit ones."""
        return self._inputs.bind(*args, **kwargs)

    # --- state

    def _register_state(self) -> dict[str, str]:
        """Register initializers; return the path of each by its name."""
        paths: dict[str, str] = {}
        kinds = classify(self._prepared)
        for name, kind in kinds.items():
            if kind is InitializerKind.CONSTANT:
                continue
            array = self._prepared.constants.pop(name)
            holder, leaf, path = self._place(name)
            tensor = flow.tensor(np.ascontiguousarray(array).reshape(array.shape))
            if kind is InitializerKind.PARAMETER:
                holder.register_parameter(leaf, nn.Parameter(tensor))
            else:
                holder.register_buffer(leaf, tensor)
            paths[name] = path
        return paths

    def _place(self, name: str) -> tuple[nn.Module, str, str]:
        """Return module, name in it and whole path for an initializer; dots separate modules."""
        *parts, leaf = [part or "_" for part in name.split(".")]
        holder: nn.Module = self
        path: list[str] = []
        for part in parts:
            if part not in holder._modules:
                part = _free_name(holder, part)
                holder.add_module(part, nn.Module())
            holder = holder._modules[part]
            path.append(part)
        leaf = _free_name(holder, leaf)
        return holder, leaf, ".".join([*path, leaf])

    def _state(self, path: str) -> Tensor:
        holder: Any = self
        *parts, leaf = path.split(".")
        for part in parts:
            holder = holder._modules[part]
        return getattr(holder, leaf)


def _free_name(holder: nn.Module, name: str) -> str:
    """Return `name`, with underscores where the module has an attribute of that name."""
    while hasattr(holder, name):
        name += "_"
    return name
