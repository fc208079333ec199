"""Inference over gRPC: messages of the protocol to arrays and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from oneflow.base.dtype import DType
from oneflow.serving.datatypes import dtype_of
from oneflow.serving.errors import invalid
from oneflow.serving.generation import GenerationRequest, generation_request
from oneflow.serving.inference import (
    InferRequest,
    InferResponse,
    add_array,
    check_parameters,
    classes_of,
    timeout_of,
)
from oneflow.serving.protocol.messages import messages
from oneflow.serving.tensors import Limits, check_shape, from_bytes, from_values, to_bytes

# The list of a tensor's contents by the data type; half precision comes as bytes only.
_CONTENTS = {
    "BOOL": "bool_contents",
    "UINT8": "uint_contents",
    "UINT16": "uint_contents",
    "UINT32": "uint_contents",
    "UINT64": "uint64_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
}


def decode_request(message: Any, limits: Limits) -> InferRequest:
    """Return the request in a `ModelInferRequest`.

    Raises:
        RequestError: it is malformed; says where.
    """
    parameters = _parameters(message.parameters, "the request")
    raw = message.raw_input_contents
    if raw and len(raw) != len(message.inputs):
        raise invalid(f"there are {len(message.inputs)} inputs and {len(raw)} raw contents")
    arrays: dict[str, np.ndarray] = {}
    for index, message_input in enumerate(message.inputs):
        _parameters(message_input.parameters, f"input `{message_input.name}`")
        dtype = dtype_of(message_input.datatype)
        shape = check_shape(message_input.name, tuple(message_input.shape), limits)
        if raw:
            if message_input.HasField("contents"):
                raise invalid(f"input `{message_input.name}` has both `contents` and raw contents")
            array = from_bytes(message_input.name, dtype, shape, raw[index])
        else:
            array = _from_contents(message_input, dtype, shape)
        add_array(arrays, message_input.name, array)
    classes = {
        output.name: classes_of(
            _parameters(output.parameters, f"output `{output.name}`"), output.name
        )
        for output in message.outputs
    }
    return InferRequest(message.id, arrays, tuple(classes), classes, timeout_of(parameters))


def _from_contents(tensor: Any, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    field = _CONTENTS.get(tensor.datatype)
    if field is None:
        raise invalid(f"input `{tensor.name}`: {tensor.datatype} comes in `raw_input_contents`")
    others = [
        field_of_type.name
        for field_of_type, _ in tensor.contents.ListFields()
        if field_of_type.name != field
    ]
    if others:
        raise invalid(
            f"input `{tensor.name}`: {tensor.datatype} comes in `{field}`, got `{others[0]}`"
        )
    return from_values(tensor.name, dtype, shape, list(getattr(tensor.contents, field)))


def _parameters(parameters: Any, of: str) -> Mapping[str, Any]:
    values = {
        name: getattr(parameter, parameter.WhichOneof("parameter_choice") or "int64_param")
        for name, parameter in parameters.items()
    }
    check_parameters(values, of)
    return values


def decode_generation(message: Any, limits: Limits) -> GenerationRequest:
    """Return the sequence to continue in a `ModelInferRequest`: its input `tokens`.

    Raises:
        RequestError: it is malformed; says where.
    """
    arrays = decode_request(message, limits).arrays
    if list(arrays) != ["tokens"] or arrays["tokens"].dtype != np.int64:
        raise invalid("a model that generates takes one input, `tokens`, with datatype INT64")
    options = _parameters(message.parameters, "the request")
    return generation_request(arrays["tokens"].ravel().tolist(), options)


def encode_token(name: str, version: int, identifier: str, token: int) -> Any:
    """Return a token of a sequence as a `ModelInferResponse`."""
    tensor = messages["ModelInferResponse.InferOutputTensor"]
    return messages["ModelInferResponse"](
        model_name=name,
        model_version=str(version),
        id=identifier,
        outputs=[tensor(name="token", datatype="INT64", shape=[1])],
        raw_output_contents=[to_bytes(np.array([token]))],
    )


def encode_end(name: str, version: int, identifier: str) -> Any:
    """Return the `ModelInferResponse` after the last token, as Triton marks it."""
    response = messages["ModelInferResponse"](
        model_name=name, model_version=str(version), id=identifier
    )
    response.parameters["triton_final_response"].bool_param = True
    return response


def encode_response(response: InferResponse, identifier: str) -> Any:
    """Return an answer as a `ModelInferResponse`."""
    tensor = messages["ModelInferResponse.InferOutputTensor"]
    outputs = response.outputs
    return messages["ModelInferResponse"](
        model_name=response.model.name,
        model_version=str(response.model.version),
        id=identifier,
        outputs=[
            tensor(name=output.name, datatype=output.datatype, shape=output.array.shape)
            for output in outputs
        ],
        raw_output_contents=[to_bytes(output.array) for output in outputs],
    )
