"""`ModelInputs`: the inputs of a model as it declares them, and values bound to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx

from oneflow import Tensor
from oneflow_onnx.x2oneflow.prepared_graph import PreparedGraph
from oneflow_onnx.x2oneflow.values import Value, element_type_of


@dataclass(frozen=True)
class ModelInputs:
    """The inputs of a model.

    Attributes:
        defined: the inputs that are no initializers, in order.
    """

    defined: tuple[onnx.ValueInfoProto, ...]

    @classmethod
    def of(cls, model: onnx.ModelProto, prepared: PreparedGraph) -> ModelInputs:
        """Return the inputs of a model that was prepared."""
        return cls(
            tuple(value for value in model.graph.input if value.name not in prepared.constants)
        )

    @property
    def names(self) -> list[str]:
        """Their names, in order."""
        return [value.name for value in self.defined]

    def bind(self, *args: Value, **kwargs: Value) -> dict[str, Value]:
        """Return values by name.

        Raises:
            TypeError: some are missing, unknown, given twice, or of another element type.
            ValueError: one has another shape.
        """
        names = self.names
        if len(args) > len(names):
            raise TypeError(f"{len(args)} inputs given, the model takes {len(names)}: {names}")
        bound = dict(zip(names, args, strict=False))
        if unknown := sorted(kwargs.keys() - set(names)):
            raise TypeError(f"no inputs named {unknown}; the model's inputs are {names}")
        if twice := sorted(kwargs.keys() & bound.keys()):
            raise TypeError(f"inputs given twice: {twice}")
        bound.update(kwargs)
        optional = {i.name for i in self.defined if i.type.WhichOneof("value") == "optional_type"}
        if missing := [name for name in names if name not in bound and name not in optional]:
            raise TypeError(f"missing inputs {missing}; the model's inputs are {names}")
        for info in self.defined:
            value = bound.setdefault(info.name, None)
            if isinstance(value, Tensor | np.ndarray) and info.type.HasField("tensor_type"):
                _check_input(info, value)
        return bound


def _check_input(info: onnx.ValueInfoProto, value: Value) -> None:
    """Raise unless element type, rank and fixed sizes are those declared."""
    tensor_type = info.type.tensor_type
    if tensor_type.elem_type and element_type_of(value) != tensor_type.elem_type:
        name = onnx.TensorProto.DataType.Name
        raise TypeError(
            f"input `{info.name}` must have elements of type {name(tensor_type.elem_type)},"
            f" not {name(element_type_of(value))}"
        )
    if not tensor_type.HasField("shape"):
        return
    # Old versions of paddle2onnx write -1 for a size that is not fixed.
    sizes = [
        d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else None
        for d in tensor_type.shape.dim
    ]
    is_match = len(sizes) == len(value.shape) and all(
        size is None or size == actual for size, actual in zip(sizes, value.shape, strict=True)
    )
    if not is_match:
        expected = [d.dim_param or d.dim_value or "?" for d in tensor_type.shape.dim]
        raise ValueError(
            f"input `{info.name}` must have the shape {expected}, not {list(value.shape)}"
        )
