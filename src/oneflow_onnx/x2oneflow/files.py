"""Model files: read whole, with their external data, and refused where they are not sound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import external_data_helper, helper

from oneflow_onnx.x2oneflow.values import MOST_ELEMENTS


def load_model(source: onnx.ModelProto | bytes | str | Path) -> onnx.ModelProto:
    """Return the model in a file, in bytes, or given as it is, with its external data.

    Raises:
        FileNotFoundError: the file, or one with external data, does not exist.
        ValueError: the model cannot be read, a tensor's shape does not fit its data, or external
            data are outside the model's folder.
    """
    folder = None
    if isinstance(source, onnx.ModelProto):
        model = source
    elif isinstance(source, bytes):
        model = _parsed(source, "the bytes given")
    else:
        path = Path(source)
        model = _parsed(path.read_bytes(), f"`{path}`")
        folder = path.parent.resolve()
    if not model.graph.node and not model.graph.output:
        raise ValueError("the model has no graph: it is empty or not an ONNX model")
    if not model.opset_import and model.ir_version >= 3:
        raise ValueError("the model names no operator set: it is truncated or not valid")
    for tensor in _tensors(model):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            if folder is None:
                raise ValueError(
                    f"tensor `{tensor.name}` is stored outside the model: give the file's path, or"
                    " load its data with `onnx.external_data_helper.load_external_data_for_model`"
                )
            _check_external(tensor, folder)
            external_data_helper.load_external_data_for_tensor(tensor, str(folder))
            tensor.data_location = onnx.TensorProto.DEFAULT
            del tensor.external_data[:]
        _check_dimensions(tensor)
    return model


def _parsed(data: bytes, name: str) -> onnx.ModelProto:
    try:
        return onnx.load_model_from_string(data)
    except (DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{name} is not an ONNX model, or truncated: {error}") from None


def _tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """All tensors of a model, also in attributes, subgraphs and functions."""
    yield from _graph_tensors(model.graph)
    for function in model.functions:
        yield from _node_tensors(list(function.node))


def _graph_tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    yield from _node_tensors(list(graph.node))


def _node_tensors(nodes: list[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for graph in [attribute.g, *attribute.graphs]:
                yield from _graph_tensors(graph)


def _check_external(tensor: onnx.TensorProto, folder: Path) -> None:
    """Refuse external data outside `folder`, behind a link, or beyond the end of their file."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    path = folder / location
    if not location or Path(location).is_absolute() or ".." in Path(location).parts:
        raise ValueError(f"external data of `{tensor.name}` are outside the model: {location!r}")
    if not path.resolve().is_relative_to(folder):
        raise ValueError(f"external data of `{tensor.name}` are behind a link: {location!r}")
    size = path.stat().st_size
    offset, length = int(entries.get("offset", 0)), int(entries.get("length", 0))
    if offset < 0 or length < 0 or offset + length > size:
        raise ValueError(
            f"external data of `{tensor.name}` are bytes {offset} to {offset + length} of"
            f" {location!r}, which has {size}"
        )


def _check_dimensions(tensor: onnx.TensorProto) -> None:
    """Refuse a shape that the stored data do not fill."""
    if any(size < 0 for size in tensor.dims):
        raise ValueError(f"tensor `{tensor.name}` has the shape {list(tensor.dims)}")
    count = math.prod(tensor.dims)
    if tensor.HasField("raw_data"):
        stored = len(tensor.raw_data)
        width = helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        # Elements of less than a byte are packed.
        if stored > count * width or stored * 8 < count:
            raise ValueError(
                f"tensor `{tensor.name}` has the shape {list(tensor.dims)} and {stored} bytes"
            )
    elif count > MOST_ELEMENTS:
        raise ValueError(f"tensor `{tensor.name}` has the shape {list(tensor.dims)} and no data")
