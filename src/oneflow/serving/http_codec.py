"""Inference over HTTP: JSON, with the binary tensors of Triton's extension behind it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from oneflow.serving.datatypes import dtype_of
from oneflow.serving.errors import ErrorKind, RequestError, invalid
from oneflow.serving.inference import (
    InferRequest,
    InferResponse,
    add_array,
    check_parameters,
    classes_of,
    timeout_of,
)
from oneflow.serving.tensors import (
    Limits,
    check_shape,
    from_bytes,
    from_values,
    to_bytes,
    to_values,
)

# The length of the JSON in front of binary tensors.
JSON_LENGTH = "Inference-Header-Content-Length"
_ENCODER = json.JSONEncoder(separators=(",", ":"))


class HttpInferRequest(NamedTuple):
    """A request with what HTTP has beside it.

    Attributes:
        request: the request.
        binary: for the outputs by name, whether the answer has them as bytes.
        is_binary: the same for those that are not named.
    """

    request: InferRequest
    binary: Mapping[str, bool]
    is_binary: bool


def decode_request(body: bytes, json_length: str | None, limits: Limits) -> HttpInferRequest:
    """Return the request in the body of a message.

    Args:
        body: the JSON, followed by binary tensors.
        json_length: the header `JSON_LENGTH`; None if all of the body is JSON.
        limits: what a request may ask for.

    Raises:
        RequestError: it is malformed; says where.
    """
    length = len(body)
    if json_length is not None:
        if not (json_length.isascii() and json_length.isdecimal() and len(json_length) < 16):
            raise invalid(f"`{JSON_LENGTH}` must be a number, got {json_length!r}")
        length = int(json_length)
        if length > len(body):
            raise invalid(f"`{JSON_LENGTH}` is {length}, and the body has {len(body)} bytes")
    data = _mapping(decode_json(body[:length], limits), "the request")
    parameters = _parameters(data, "the request")
    arrays = _decode_inputs(data, memoryview(body)[length:], limits)
    is_binary = _flag(parameters, "binary_data_output", False)
    binary: dict[str, bool] = {}
    classes: dict[str, int] = {}
    for item in _list(data, "outputs"):
        output = _mapping(item, "an output")
        name = _name(output, "output")
        options = _parameters(output, f"output `{name}`")
        binary[name] = _flag(options, "binary_data", is_binary)
        classes[name] = classes_of(options, name)
    identifier = data.get("id", "")
    if not isinstance(identifier, str):
        raise invalid(f"`id` must be a text, got {identifier!r}")
    request = InferRequest(identifier, arrays, tuple(binary), classes, timeout_of(parameters))
    return HttpInferRequest(request, binary, is_binary)


def decode_json(text: bytes, limits: Limits) -> Any:
    """Return the value of a JSON text.

    Raises:
        RequestError: it is too long, or is none.
    """
    if len(text) > limits.json_bytes:
        raise RequestError(
            ErrorKind.TOO_LARGE,
            f"the JSON has {len(text)} bytes, {limits.json_bytes} are allowed; send binary tensors",
        )
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise invalid(f"the request is no valid JSON: {error}") from None


def _decode_inputs(
    data: Mapping[str, Any], rest: memoryview, limits: Limits
) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {}
    for item in _list(data, "inputs"):
        entry = _mapping(item, "an input")
        name = _name(entry, "input")
        dtype = dtype_of(entry.get("datatype"))
        shape = check_shape(name, entry.get("shape"), limits)
        size = _parameters(entry, f"input `{name}`").get("binary_data_size")
        if size is None:
            array = from_values(name, dtype, shape, entry.get("data"))
        else:
            if type(size) is not int or not 0 <= size <= len(rest):
                raise invalid(
                    f"`binary_data_size` of input `{name}` is {size!r}, and {len(rest)} bytes "
                    "are left"
                )
            array = from_bytes(name, dtype, shape, rest[:size])
            rest = rest[size:]
        add_array(arrays, name, array)
    if len(rest):
        raise invalid(f"{len(rest)} bytes are left that belong to no input")
    return arrays


def _mapping(value: Any, of: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise invalid(f"{of} must be an object of JSON, got {str(value)[:50]!r}")
    return value


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    value = data.get(key, [])
    if not isinstance(value, list):
        raise invalid(f"`{key}` must be a list, got {str(value)[:50]!r}")
    return value


def _name(data: Mapping[str, Any], of: str) -> str:
    name = data.get("name")
    if not isinstance(name, str):
        raise invalid(f"`name` of an {of} must be a text, got {str(name)[:50]!r}")
    return name


def _parameters(data: Mapping[str, Any], of: str) -> Mapping[str, Any]:
    parameters = _mapping(data.get("parameters", {}), f"`parameters` of {of}")
    check_parameters(parameters, of)
    return parameters


def _flag(parameters: Mapping[str, Any], name: str, default: bool) -> bool:
    value = parameters.get(name, default)
    if not isinstance(value, bool):
        raise invalid(f"`{name}` must be true or false, got {str(value)[:50]!r}")
    return value


def encode_response(
    response: InferResponse, requested: HttpInferRequest
) -> tuple[bytes, int | None]:
    """Return the body of an answer, and the length of its JSON if binary tensors follow.

    Raises:
        RequestError: an output has values that JSON cannot express.
    """
    outputs: list[dict[str, Any]] = []
    parts: list[bytes] = []
    for name, datatype, array in response.outputs:
        output = {"name": name, "datatype": datatype, "shape": list(array.shape)}
        if requested.binary.get(name, requested.is_binary):
            parts.append(to_bytes(array))
            output["parameters"] = {"binary_data_size": len(parts[-1])}
        else:
            output["data"] = to_values(name, array)
        outputs.append(output)
    model = response.model
    data = {"model_name": model.name, "model_version": str(model.version), "outputs": outputs}
    if requested.request.id:
        data["id"] = requested.request.id
    text = _ENCODER.encode(data).encode()
    return b"".join((text, *parts)), len(text) if parts else None
