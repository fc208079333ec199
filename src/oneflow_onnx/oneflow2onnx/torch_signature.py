"""`export` with PyTorch's signature."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import onnx
import onnx_ir as ir

from oneflow_onnx.oneflow2onnx.dynamic import symbolic_dimensions
from oneflow_onnx.oneflow2onnx.exporting import (
    ExportOptions,
    argument_names,
    export_model,
)
from oneflow_onnx.oneflow2onnx.files import write_model
from oneflow_onnx.oneflow2onnx.handler import registered_handlers

_TRAINING = {"eval": False, "train": True, "preserve": None}


def export(
    model: Any,
    args: Any = (),
    f: str | os.PathLike[str] | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_axes: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    training: str | bool | None = "eval",
    external_data: bool | None = None,
    progress: Callable[[Iterable[Any]], Iterable[Any]] | None = None,
) -> onnx.ModelProto | None:
    """Export a model to ONNX; `oneflow.onnx.export` with PyTorch's arguments.

    The model is recorded as it acts on `args`; nothing runs. Parameters keep their names.

    Args:
        model: an `nn.Graph` (local or on a placement), an `nn.Module`, or a function of tensors.
        args: example arguments: a tuple, or one tensor. Only their shapes and dtypes matter.
        f: the file to write; None: return the model.
        kwargs: example keyword arguments.
        input_names: names of the inputs; default: those of the parameters of `forward`.
        output_names: names of the outputs; default: ``output``, or ``output_0`` and so on.
        opset_version: from 9 to the newest; None: 10, or the lowest that can express the model,
            with a warning.
        dynamic_axes: symbolic sizes by input name: ``{"x": {0: "batch"}}`` or ``{"x": [0]}``.
        dynamic_shapes: symbolic sizes by argument: ``({0: "batch"}, None)``.
        training: ``"eval"``, ``"train"``, or ``"preserve"`` for the modes that modules are in;
            PyTorch's `TrainingMode` is taken too.
        external_data: store weights in a file of their own; None: if they exceed 2 GiB.
        progress: wraps the iteration over the operators, as `tqdm.tqdm` does.

    Returns:
        The model, if `f` is None.

    Raises:
        UnsupportedOperatorsError: operators that ONNX cannot express; lists all of them.
        OpsetError: the opset is too low for the model, or unknown.
        DynamicSizeError: the model does other things at other sizes.
        ValueError: names or dimensions do not fit the arguments.

    Example:
        >>> import oneflow as flow
        >>> model = flow.nn.Sequential(flow.nn.Linear(3, 4), flow.nn.ReLU())
        >>> proto = flow.onnx.export(model, flow.randn(2, 3), dynamic_axes={"input": {0: "batch"}})
        >>> [node.op_type for node in proto.graph.node], proto.opset_import[0].version
        (['Gemm', 'Relu'], 10)
        >>> [initializer.name for initializer in proto.graph.initializer]
        ['0.weight', '0.bias']
    """
    arguments = args if isinstance(args, tuple) else (args,)
    names = argument_names(model, arguments, kwargs or {}, input_names or ())
    options = ExportOptions(
        opset=opset_version,
        input_names=names,
        output_names=tuple(output_names or ()),
        dynamic=symbolic_dimensions(names, dynamic_axes, dynamic_shapes),
        training=_training(training),
        handlers=registered_handlers(opset_version),
        progress=progress,
    )
    exported = export_model(model, arguments, kwargs, options)
    if f is None:
        return ir.to_proto(exported)
    write_model(exported, f, external_data)
    return None


def _training(value: Any) -> bool | None:
    """True if modules are to be in training mode; None: as they are."""
    if value is None or isinstance(value, bool):
        return value
    name = str(getattr(value, "name", value)).lower()
    if name == "training":
        name = "train"
    if name not in _TRAINING:
        raise ValueError(f'`training` must be "eval", "train" or "preserve", got {value!r}')
    return _TRAINING[name]
