"""Models on disk: a file that is whole or as it was before, whatever stops the writing."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import onnx
import onnx_ir as ir

from oneflow.checkpoint.atomic_file import atomic_write, flush_folder
from oneflow.data.readers.protobuf import encode_varint

# Protocol buffers hold less than 2 GiB.
_LARGEST = 2**31 - 2**20
# Smaller weights stay in the file of the model.
_SMALLEST_EXTERNAL = 1024


def write_model(
    model: ir.Model, path: str | os.PathLike[str], external_data: bool | None = None
) -> Path:
    """Write a model to a file.

    A file that is there already is replaced when the new one is complete and on disk. Weights that
    are stored apart go to a file beside it, whose name begins with that of the model and is new
    each time; that of the replaced model is removed at the end.

    Args:
        model: the model.
        path: the file.
        external_data: store weights apart; None: if they are too large for one file (2 GiB).

    Returns:
        The path of the model.

    Raises:
        FileNotFoundError: its folder does not exist.
        OSError: the disk is full, or the file system refuses anything else.
        ValueError: it is too large for one file and `external_data` is False.
    """
    path = Path(path)
    weights = _weights(model)
    if external_data is None:
        external_data = sum(tensor.nbytes for _, tensor in weights) > _LARGEST
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot export to `{path}`: the folder does not exist")
    before = _data_files(path)
    if not external_data:
        with atomic_write(path) as file:
            _write_content(model, file)
    else:
        _write_with_data(model, weights, path)
    for file in before:
        with contextlib.suppress(OSError):
            file.unlink()
    return path


def _weights(model: ir.Model) -> list[tuple[ir.Value, ir.TensorProtocol]]:
    """The initializers of a model with their tensors."""
    values = model.graph.initializers.values()
    return [(value, value.const_value) for value in values if value.const_value is not None]


def _write_with_data(
    model: ir.Model, weights: Sequence[tuple[ir.Value, ir.TensorProtocol]], path: Path
) -> None:
    """Write the weights to a new file, and then the model that names it."""
    data = path.with_name(f"{path.name}.{secrets.token_hex(4)}.data")
    try:
        large = [pair for pair in weights if pair[1].nbytes >= _SMALLEST_EXTERNAL]
        stored = ir.external_data.convert_tensors_to_external(
            [tensor for _, tensor in large], path.parent, data.name
        )
        for (value, _), tensor in zip(large, stored, strict=True):
            value.const_value = tensor
        with atomic_write(path) as file:
            _flush(data)
            file.write(ir.to_proto(model).SerializeToString())
    except BaseException:
        data.unlink(missing_ok=True)
        raise


def _write_content(model: ir.Model, file: BinaryIO) -> None:
    """Write a model as one message, its weights one by one: no copy of all of them is made.

    Raises:
        ValueError: it is too large for a message.
    """
    weights = _weights(model)
    model.graph.initializers.clear()
    try:
        proto = ir.to_proto(model)
    finally:
        for value, _ in weights:
            model.graph.register_initializer(value)
    graph = proto.graph.SerializeToString()
    proto.ClearField("graph")
    heads = [_tensor_head(tensor) for _, tensor in weights]
    size = sum(map(len, heads)) + sum(tensor.nbytes for _, tensor in weights) + len(graph)
    if size > _LARGEST:
        raise ValueError(
            f"the model has {size:,} bytes, too many for one file; export it with "
            "`external_data=True`, which stores the weights beside it"
        )
    file.write(proto.SerializeToString())
    file.write(_field(onnx.ModelProto.GRAPH_FIELD_NUMBER, size))
    file.write(graph)
    for head, (_, tensor) in zip(heads, weights, strict=True):
        file.write(head)
        file.write(tensor.tobytes())


def _tensor_head(tensor: ir.TensorProtocol) -> bytes:
    """The bytes of an initializer of a graph up to its data, which end it."""
    header = onnx.TensorProto(
        name=tensor.name, data_type=int(tensor.dtype), dims=tensor.shape.numpy()
    ).SerializeToString()
    header += _field(onnx.TensorProto.RAW_DATA_FIELD_NUMBER, tensor.nbytes)
    size = len(header) + tensor.nbytes
    return _field(onnx.GraphProto.INITIALIZER_FIELD_NUMBER, size) + header


def _field(number: int, size: int) -> bytes:
    """The start of a field of protocol buffers that has `size` bytes."""
    return encode_varint(number << 3 | 2) + encode_varint(size)


def _flush(path: Path) -> None:
    """Bring a file, if it is there, to disk."""
    if not path.exists():
        return
    with path.open("rb") as file:
        os.fsync(file.fileno())
    flush_folder(path.parent)


def _data_files(path: Path) -> list[Path]:
    """The files with weights that belong to the model at a path, by the names that we give."""
    name = re.compile(rf"{re.escape(path.name)}\.[0-9a-f]{{8}}\.data")
    return [file for file in path.parent.iterdir() if name.fullmatch(file.name)]
