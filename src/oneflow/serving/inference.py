"""Requests and answers of inference, whichever protocol they come with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from oneflow.serving.classification import top_classes
from oneflow.serving.datatypes import BYTES, datatype_of
from oneflow.serving.errors import ErrorKind, RequestError, invalid
from oneflow.serving.model_version import ModelVersion
from oneflow.serving.repository import Repository

# Parameters by which Triton's protocol asks for what this server does not do.
_UNSUPPORTED = ("shared_memory_region", "sequence_id")


class InferRequest(NamedTuple):
    """A request for the outputs of a model.

    Attributes:
        id: the client's name for it.
        arrays: the inputs by name.
        outputs: the names of the outputs that it asks for; none stands for all.
        classes: the number of classes to answer with in place of an output, by its name.
        timeout: the seconds after which nobody wants them any more.
    """

    id: str
    arrays: Mapping[str, np.ndarray]
    outputs: Sequence[str]
    classes: Mapping[str, int]
    timeout: float | None


class Output(NamedTuple):
    """An output of a model.

    Attributes:
        name: its name.
        datatype: the protocol's name of its data type.
        array: its elements; of text, Python's `bytes`.
    """

    name: str
    datatype: str
    array: np.ndarray


class InferResponse(NamedTuple):
    """An answer with the version that gave it."""

    model: ModelVersion
    outputs: Sequence[Output]


def check_parameters(parameters: Mapping[str, Any], of: str) -> None:
    """Raise if a request has parameters that this server does not support.

    Raises:
        RequestError: it is; names it.
    """
    for name in _UNSUPPORTED:
        if parameters.get(name):
            raise RequestError(
                ErrorKind.UNSUPPORTED, f"parameter `{name}` of {of} is not supported"
            )


def timeout_of(parameters: Mapping[str, Any]) -> float | None:
    """Return the timeout of a request's parameters in seconds; None for none.

    Raises:
        RequestError: it is no number of microseconds.
    """
    timeout = parameters.get("timeout", 0)
    if type(timeout) is not int or not 0 <= timeout < 2**63:
        raise invalid(f"`timeout` must be a number of microseconds, got {timeout!r}")
    return timeout / 1e6 or None


def classes_of(parameters: Mapping[str, Any], output: str) -> int:
    """Return the number of classes that the parameters of an output ask for; 0 for the output.

    Raises:
        RequestError: it is no such number.
    """
    count = parameters.get("classification", 0)
    if type(count) is not int or not 0 <= count < 2**31:
        raise invalid(f"`classification` of output `{output}` must be a number, got {count!r}")
    return count


def add_array(arrays: dict[str, np.ndarray], name: str, array: np.ndarray) -> None:
    """Add an input to a request.

    Raises:
        RequestError: there is one of its name.
    """
    if name in arrays:
        raise invalid(f"input `{name}` occurs twice")
    arrays[name] = array


async def infer(
    repository: Repository, name: str, version: str, request: InferRequest
) -> InferResponse:
    """Answer a request.

    Raises:
        RequestError: it cannot be answered.
    """
    model = repository.find(name, version)
    requested = set(request.outputs)
    unknown = requested - {output.name for output in model.outputs}
    if unknown:
        names = ", ".join(f"`{output.name}`" for output in model.outputs)
        raise invalid(f"there is no output `{min(unknown)}`; the outputs are {names}")
    arrays = await model.infer(request.arrays, request.timeout)
    outputs = []
    for output, array in zip(model.outputs, arrays, strict=True):
        count = request.classes.get(output.name, 0)
        if count:
            has_rows = bool(model.config.max_batch_size)
            classes = top_classes(array, count, model.labels.get(output.name, ()), has_rows)
            outputs.append(Output(output.name, BYTES, classes))
        elif output.name in requested or not requested:
            outputs.append(Output(output.name, datatype_of(output.dtype), array))
    return InferResponse(model, outputs)
