"""Models in the bodies of job functions: initializers are variables of the session."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import oneflow as flow
import oneflow_onnx.x2oneflow.operators  # noqa: F401  (fills the table of operators)
from oneflow.legacy import context
from oneflow.legacy.session import default_session
from oneflow_onnx.x2oneflow.execution import run_prepared
from oneflow_onnx.x2oneflow.model_inputs import ModelInputs
from oneflow_onnx.x2oneflow.prepared_graph import GraphPreparer
from oneflow_onnx.x2oneflow.trainable import InitializerKind, classify
from oneflow_onnx.x2oneflow.values import Value, as_result, dtype_of, element_type_of

# In names of variables, which are names of folders too.
_SEPARATOR_TABLE = str.maketrans("./:", "___")


class FromArray:
    """An initializer: a variable begins as an array.

    Args:
        array: the array.
    """

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __call__(self, variable: flow.Tensor) -> flow.Tensor:
        """Fill a variable."""
        return variable.copy_(flow.tensor(self.array))


def blobs_from_onnx(
    model: onnx.ModelProto, inputs: Any, model_weight_dir: str | Path | None = None
) -> Any:
    """Return the outputs of a model for blobs of the job whose body runs.

    Args:
        model: the model.
        inputs: a blob, a sequence of blobs in the model's order, or blobs by name.
        model_weight_dir: also save the initial values of the variables there, for
            `flow.train.CheckPoint().load`; what is there is replaced.

    Returns:
        The output, or a dict of several by name.

    Raises:
        NotImplementedError: operators are not supported; the message lists all of them.
        TypeError: there are no inputs, or they do not fit.
        ValueError: the model is not valid, or another model has a variable of one of its names.
    """
    run = context.current_run("from_onnx() with blobs")
    if inputs is None:
        raise TypeError("in a job, `from_onnx` needs the blobs that the model takes as `inputs`")
    prepared = GraphPreparer(model).prepare_model()
    graph_inputs = ModelInputs.of(model, prepared)
    if isinstance(inputs, Mapping):
        bound = graph_inputs.bind(**inputs)
    else:
        bound = graph_inputs.bind(*(inputs if isinstance(inputs, list | tuple) else [inputs]))
    kinds = {
        name: kind
        for name, kind in classify(prepared).items()
        if kind is not InitializerKind.CONSTANT
    }
    arrays = {name: prepared.constants.pop(name) for name in kinds}
    state = {name: _variable(name, arrays[name], kind) for name, kind in kinds.items()}
    if model_weight_dir is not None and run.records:
        _save(arrays, Path(model_weight_dir))
    outputs = run_prepared(prepared, {**state, **bound}, run.is_training)
    blobs = {
        name: as_result(output) for name, output in zip(prepared.outputs, outputs, strict=True)
    }
    return next(iter(blobs.values())) if len(blobs) == 1 else blobs


def example_arrays(blobs: Any) -> list[np.ndarray]:
    """Arrays of zeros like blobs, which have no values in a job."""
    items = blobs if isinstance(blobs, list | tuple) else [blobs]
    return [np.zeros(tuple(blob.shape), blob.dtype.numpy) for blob in items]


def _variable(name: str, array: np.ndarray, kind: InitializerKind) -> Value:
    """The variable of an initializer."""
    variable_name = name.translate(_SEPARATOR_TABLE)
    spec = default_session().specs.get(context.qualified(variable_name))
    if spec is not None and not (
        isinstance(spec.initializer, FromArray) and np.array_equal(spec.initializer.array, array)
    ):
        raise ValueError(
            f"variable `{spec.name}` exists already, with other initial values; import the model "
            "within `flow.scope.namespace(...)` of its own"
        )
    return flow.get_variable(
        variable_name,
        array.shape,
        dtype_of(element_type_of(array)),
        FromArray(array),
        trainable=kind is InitializerKind.PARAMETER,
    )


def _save(arrays: Mapping[str, np.ndarray], folder: Path) -> None:
    """Write the initial values of variables as a snapshot."""
    if (folder / "snapshot_done").exists():
        shutil.rmtree(folder)
    flow.checkpoint.save(
        folder,
        {
            context.qualified(name.translate(_SEPARATOR_TABLE)): flow.tensor(array)
            for name, array in arrays.items()
        },
    )
