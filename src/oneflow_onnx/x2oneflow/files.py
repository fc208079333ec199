"""Model files: read whole, with their external data, and refused where they are not sound."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import onnx
import onnx_ir as ir
from google.protobuf.message import DecodeError
from onnx import external_data_helper, helper

# Subgraphs and functions inside each other.
MOST_LEVELS = 50


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
    yield from _graph_tensors(model.graph, 0)
    for function in model.functions:
        yield from _node_tensors(function.node, 0)


def _graph_tensors(graph: onnx.GraphProto, level: int) -> Iterator[onnx.TensorProto]:
    if level > MOST_LEVELS:
        raise ValueError(f"subgraphs are more than {MOST_LEVELS} levels deep")
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    yield from _node_tensors(graph.node, level)


def _node_tensors(nodes: Iterable[onnx.NodeProto], level: int) -> Iterator[onnx.TensorProto]:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for graph in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
                yield from _graph_tensors(graph, level + 1)


def _check_external(tensor: onnx.TensorProto, folder: Path) -> None:
    """Refuse external data outside `folder`, behind a link, or beyond the end of their file."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    path = folder / location
    if not location or Path(location).is_absolute() or ".." in Path(location).parts:
        raise ValueError(f"external data of `{tensor.name}` are outside the model: {location!r}")
    if not path.resolve().is_relative_to(folder):
        raise ValueError(f"external data of `{tensor.name}` are behind a link: {location!r}")
    if not path.is_file():
        raise FileNotFoundError(f"external data of `{tensor.name}`: there is no file {location!r}")
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
    if tensor.data_type not in helper.get_all_tensor_dtypes():
        raise ValueError(f"tensor `{tensor.name}` has the unknown element type {tensor.data_type}")
    needed, stored = _sizes_of_data(tensor)
    if stored != needed:
        raise ValueError(
            f"tensor `{tensor.name}` has the shape {list(tensor.dims)}, which {needed} bytes or"
            f" numbers fill, and {stored} of them"
        )


def _sizes_of_data(tensor: onnx.TensorProto) -> tuple[int, int]:
    """The number of bytes or numbers the shape asks for, and the number stored."""
    count, kind = math.prod(tensor.dims), ir.DataType(tensor.data_type)
    bits = 8 if kind == ir.DataType.STRING else kind.bitwidth
    if tensor.HasField("raw_data"):
        return math.ceil(count * bits / 8), len(tensor.raw_data)
    numbers = getattr(tensor, helper.tensor_dtype_to_field(tensor.data_type))
    if kind in (ir.DataType.COMPLEX64, ir.DataType.COMPLEX128):
        count *= 2
    # Elements of less than a byte are packed.
    return math.ceil(count * min(bits, 8) / 8), len(numbers)
