"""`ImportedModule`: an ONNX model as an ordinary module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

import oneflow as flow
import oneflow_onnx.x2oneflow.operators  # noqa: F401  (fills the table of operators)
from oneflow import Tensor, nn
from oneflow_onnx.x2oneflow.execution import run_plan
from oneflow_onnx.x2oneflow.plan import Planner
from oneflow_onnx.x2oneflow.trainable import Kind, classify
from oneflow_onnx.x2oneflow.values import Value, as_tensor, element_type_of, fits_tensor


class ImportedModule(nn.Module):
    """A module that computes what an ONNX model computes.

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
        self._plan = Planner(model).plan_model(model.graph)
        self._inputs = [i for i in model.graph.input if i.name not in self._plan.constants]
        self._state_names = self._register_state()
        self.eval()

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs, in order."""
        return [value.name for value in self._inputs]

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs, in order."""
        return list(self._plan.outputs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; see the class."""
        outputs = [_presented(v) for v in self.run(self.bind(*args, **kwargs))]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def run(self, inputs: Mapping[str, Value]) -> list[Value]:
        """Return the outputs, as they are, for inputs by name."""
        state = {name: self._state(path) for name, path in self._state_names.items()}
        return run_plan(self._plan, {**state, **inputs}, self.training)

    def extra_repr(self) -> str:
        """Return the signature of the model."""
        return f"{', '.join(self.input_names)} -> {', '.join(self.output_names)}"

    # --- inputs

    def bind(self, *args: Value, **kwargs: Value) -> dict[str, Value]:
        """Return the inputs by name; raise for missing, unknown or unfit ones."""
        names = self.input_names
        if len(args) > len(names):
            raise TypeError(f"{len(args)} inputs given, the model takes {len(names)}: {names}")
        given = dict(zip(names, args, strict=False))
        if unknown := sorted(kwargs.keys() - set(names)):
            raise TypeError(f"no inputs named {unknown}; the model's inputs are {names}")
        if twice := sorted(kwargs.keys() & given.keys()):
            raise TypeError(f"inputs given twice: {twice}")
        given.update(kwargs)
        optional = {i.name for i in self._inputs if i.type.WhichOneof("value") == "optional_type"}
        if missing := [name for name in names if name not in given and name not in optional]:
            raise TypeError(f"missing inputs {missing}; the model's inputs are {names}")
        for declared in self._inputs:
            value = given.setdefault(declared.name, None)
            if isinstance(value, Tensor | np.ndarray) and declared.type.HasField("tensor_type"):
                _check_input(declared, value)
        return given

    # --- state

    def _register_state(self) -> dict[str, str]:
        """Register initializers; return the path of each by its name."""
        paths: dict[str, str] = {}
        kinds = classify(self._plan)
        for name, kind in kinds.items():
            if kind is Kind.CONSTANT:
                continue
            array = self._plan.constants.pop(name)
            holder, leaf, path = self._place(name)
            tensor = flow.tensor(np.ascontiguousarray(array).reshape(array.shape))
            if kind is Kind.PARAMETER:
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


def _presented(value: Value) -> Any:
    """Return an output as a tensor where it can be one."""
    if isinstance(value, list):
        return [_presented(element) for element in value]
    if isinstance(value, np.ndarray) and fits_tensor(value):
        return as_tensor(value)
    return value


def _check_input(declared: onnx.ValueInfoProto, value: Value) -> None:
    """Raise unless element type, rank and fixed sizes are those declared."""
    wanted = declared.type.tensor_type
    if wanted.elem_type and element_type_of(value) != wanted.elem_type:
        name = onnx.TensorProto.DataType.Name
        raise TypeError(
            f"input `{declared.name}` must have elements of type {name(wanted.elem_type)},"
            f" not {name(element_type_of(value))}"
        )
    if not wanted.HasField("shape"):
        return
    # Old versions of paddle2onnx write -1 for a size that is not fixed.
    sizes = [
        d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else None
        for d in wanted.shape.dim
    ]
    fits = len(sizes) == len(value.shape) and all(
        size is None or size == actual for size, actual in zip(sizes, value.shape, strict=True)
    )
    if not fits:
        shown = [d.dim_param or d.dim_value or "?" for d in wanted.shape.dim]
        raise ValueError(
            f"input `{declared.name}` must have the shape {shown}, not {list(value.shape)}"
        )
