"""Models of ONNX, PyTorch, TensorFlow and Paddle as modules, or in the bodies of job functions."""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import oneflow as flow
from oneflow.legacy.context import is_in_job
from oneflow_onnx.declared_buffers import declaration
from oneflow_onnx.x2oneflow.files import load_model
from oneflow_onnx.x2oneflow.frameworks import framework
from oneflow_onnx.x2oneflow.job_import import blobs_from_onnx, example_arrays
from oneflow_onnx.x2oneflow.module import ImportedModule
from oneflow_onnx.x2oneflow.values import Value, as_host

# The oldest operator set that PyTorch's newer exporter writes.
_MIN_DYNAMO_OPSET = 18


def from_onnx(
    onnx_model: onnx.ModelProto | bytes | str | Path,
    inputs: Mapping[str, Value] | Sequence[Value] | Value = None,
    model_weight_dir: str | Path | None = None,
) -> Any:
    """Return an ONNX model as an ordinary, trainable module in evaluation mode.

    In the body of a job function it is called with blobs instead, and its output is a blob, or a
    dict of several. Initializers are variables then, under their names with ``_`` for ``.``, ``/``
    and ``:``, and the model trains if the job does.

    Args:
        onnx_model: the model, or the path of its file, which may have external data beside it.
        inputs: values that the module is going to be called with, checked against the model's
            inputs: a mapping by name, a sequence in the model's order, or one value.
        model_weight_dir: also save the parameters and buffers there, as `oneflow.save` does; in a
            job, the variables as `flow.train.CheckPoint` does.

    Returns:
        An `ImportedModule`; in a job, blobs.

    Raises:
        NotImplementedError: operators are not supported; the message lists all of them.
        ValueError: the model is broken, or `inputs` have other shapes.
        TypeError: `inputs` have other names or element types.

    Example:
        >>> import oneflow as flow, onnx.parser
        >>> from oneflow_onnx.x2oneflow.onnx2flow import from_onnx
        >>> model = onnx.parser.parse_model('''
        ...     <ir_version: 10, opset_import: ["": 21]>
        ...     double (float[n] x) => (float[n] y) { y = Add(x, x) }''')
        >>> from_onnx(model)(flow.tensor([1.0, 2.0])).tolist()
        [2.0, 4.0]
    """
    model = load_model(onnx_model)
    if is_in_job():
        return blobs_from_onnx(model, inputs, model_weight_dir)
    module = ImportedModule(model)
    if inputs is not None:
        if isinstance(inputs, Mapping):
            module.bind(**inputs)
        else:
            module.bind(*(inputs if isinstance(inputs, list | tuple) else [inputs]))
    if model_weight_dir is not None:
        flow.save(module.state_dict(), model_weight_dir)
    return module


def from_pytorch(
    torch_model: Any,
    inputs: Sequence[Value] | Value,
    model_weight_dir: str | Path | None = None,
    train_flag: bool = False,
    opset_version: int = 17,
    dynamo: bool = False,
) -> Any:
    """Return a PyTorch module as a module of OneFlow; in a job function, its output for blobs.

    The model is exported in evaluation mode, batch normalisation kept apart from convolutions, so
    that parameters and buffers keep their names.

    Args:
        torch_model: a `torch.nn.Module`.
        inputs: example inputs: tensors or arrays, whose shapes the export may fix, the first
            dimension apart.
        model_weight_dir: also save the parameters and buffers there.
        train_flag: return the module in training mode.
        opset_version: the operator set to export with; with `dynamo` at least 18.
        dynamo: export with the newer of PyTorch's two exporters, which captures the model with
            `torch.export`; it needs the package `onnxscript`.

    Raises:
        ModuleNotFoundError: PyTorch is not installed, or `onnxscript` is not, which `dynamo` needs.

    Example:
        >>> import torch
        >>> import oneflow as flow
        >>> from oneflow_onnx.x2oneflow.onnx2flow import from_pytorch
        >>> model = from_pytorch(torch.nn.Linear(4, 2), flow.zeros(1, 4))
        >>> model(flow.ones(3, 4)).shape
        oneflow.Size([3, 2])
    """
    torch = framework("torch", "from_pytorch")
    examples = tuple(torch.from_numpy(np.array(array)) for array in _arrays(inputs))
    names = [f"x_{index}" for index in range(len(examples))]
    export = _export_by_dynamo if dynamo else _export_by_script
    was_training = torch_model.training
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        # Both warn of functions that they call themselves and not of the model.
        for category in (DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        path = Path(folder) / "model.onnx"
        try:
            export(torch, torch_model.eval(), examples, path, names, opset_version)
        finally:
            torch_model.train(was_training)
        exported = load_model(path)
    onnx.helper.set_model_props(exported, declaration(_torch_buffers(torch_model, exported)))
    return _imported(exported, inputs, model_weight_dir, train_flag)


def _torch_buffers(model: Any, exported: onnx.ModelProto) -> set[str]:
    """The names of a model's buffers, and of numbers that its export made."""
    numbers = {
        initializer.name
        for initializer in exported.graph.initializer
        if math.prod(initializer.dims) == 1
    }
    parameters = {name for name, _ in model.named_parameters()}
    return {name for name, _ in model.named_buffers()} | (numbers - parameters)


def _export_by_script(
    torch: Any, model: Any, examples: tuple[Any, ...], path: Path, names: list[str], opset: int
) -> None:
    """Export with the older exporter, which records the calls that a model makes."""
    warnings.filterwarnings("ignore", "Constant folding")
    torch.onnx.export(
        model,
        examples,
        str(path),
        input_names=names,
        dynamic_axes={n: {0: "n"} for n, x in zip(names, examples, strict=True) if x.ndim},
        opset_version=opset,
        training=torch.onnx.TrainingMode.PRESERVE,
        do_constant_folding=False,
        dynamo=False,
    )


def _export_by_dynamo(
    torch: Any, model: Any, examples: tuple[Any, ...], path: Path, names: list[str], opset: int
) -> None:
    """Export with the newer exporter; its optimizer would fold batch normalisation away."""
    framework("onnxscript", "from_pytorch(..., dynamo=True)")
    torch.onnx.export(
        model,
        examples,
        str(path),
        input_names=names,
        dynamic_shapes=tuple({0: "n"} if x.ndim else None for x in examples),
        opset_version=max(opset, _MIN_DYNAMO_OPSET),
        optimize=False,
        verbose=False,
        dynamo=True,
    )


def from_tensorflow2(
    tf_model: Any,
    inputs: Sequence[Value] | Value,
    model_weight_dir: str | Path | None = None,
    train_flag: bool = False,
    opset_version: int = 13,
) -> Any:
    """Return a Keras model as a module, or its output for blobs, by way of tf2onnx.

    Args:
        tf_model: a `tf.keras.Model`.
        inputs: example inputs: tensors or arrays.
        model_weight_dir: also save the parameters and buffers there.
        train_flag: return the module in training mode.
        opset_version: the operator set to export with.

    Raises:
        ModuleNotFoundError: TensorFlow or tf2onnx is not installed.

    Example:
        >>> import tensorflow  # doctest: +SKIP
        >>> layers = [tensorflow.keras.layers.Dense(2)]  # doctest: +SKIP
        >>> source = tensorflow.keras.Sequential(layers)  # doctest: +SKIP
        >>> model = from_tensorflow2(source, flow.zeros(1, 4))  # doctest: +SKIP
    """
    tensorflow = framework("tensorflow", "from_tensorflow2")
    convert = framework("tf2onnx.convert", "from_tensorflow2")
    signature = [
        tensorflow.TensorSpec(array.shape, array.dtype, name=f"x_{index}")
        for index, array in enumerate(_arrays(inputs))
    ]
    model, _ = convert.from_keras(tf_model, input_signature=signature, opset=opset_version)
    return _imported(model, inputs, model_weight_dir, train_flag)


def from_paddle(
    paddle_model: Any,
    inputs: Sequence[Value] | Value,
    model_weight_dir: str | Path | None = None,
    train_flag: bool = False,
    opset_version: int = 13,
) -> Any:
    """Return a Paddle layer as a module, or its output for blobs, by way of paddle2onnx.

    Args:
        paddle_model: a `paddle.nn.Layer`.
        inputs: example inputs: tensors or arrays.
        model_weight_dir: also save the parameters and buffers there.
        train_flag: return the module in training mode.
        opset_version: the operator set to export with.

    Raises:
        ModuleNotFoundError: Paddle or paddle2onnx is not installed.

    Example:
        >>> import paddle  # doctest: +SKIP
        >>> source = paddle.nn.Linear(4, 2)  # doctest: +SKIP
        >>> model = from_paddle(source, flow.zeros(1, 4))  # doctest: +SKIP
    """
    paddle = framework("paddle", "from_paddle")
    framework("paddle2onnx", "from_paddle")
    input_spec = [
        paddle.static.InputSpec(list(array.shape), str(array.dtype), f"x_{index}")
        for index, array in enumerate(_arrays(inputs))
    ]
    paddle_model.eval()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        paddle.onnx.export(
            paddle_model, str(path), input_spec=input_spec, opset_version=opset_version
        )
        return _imported(path.with_suffix(".onnx"), inputs, model_weight_dir, train_flag)


def _imported(
    onnx_model: onnx.ModelProto | Path,
    inputs: Sequence[Value] | Value,
    model_weight_dir: str | Path | None,
    train_flag: bool,
) -> Any:
    """A module in the requested mode; in a job, blobs, and the job says whether it trains."""
    if is_in_job():
        return from_onnx(onnx_model, inputs, model_weight_dir)
    return from_onnx(onnx_model, model_weight_dir=model_weight_dir).train(train_flag)


def _arrays(inputs: Sequence[Value] | Value) -> list[np.ndarray]:
    if is_in_job():
        return example_arrays(inputs)
    items = inputs if isinstance(inputs, list | tuple) else [inputs]
    return [np.asarray(as_host(value)) for value in items]
