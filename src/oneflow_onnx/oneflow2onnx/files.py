"""Models on disk: a file that is whole or as it was before, whatever stops the writing."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path

import onnx_ir as ir

from oneflow.checkpoint.atomic_file import atomic_write, flush_folder

# Protocol buffers hold less than 2 GiB.
_LARGEST = 2**31 - 2**20
# Smaller weights stay in the file of the model.
_SMALLEST_EXTERNAL = 1024


def write_model(
    model: ir.Model, path: str | os.PathLike, external_data: bool | None = None
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
        content = _serialized(model)
        with atomic_write(path) as file:
            file.write(content)
    else:
        _write_with_data(model, weights, path)
    for each in before:
        with contextlib.suppress(OSError):
            each.unlink()
    return path


def _weights(model: ir.Model) -> list[tuple[ir.Value, ir.TensorProtocol]]:
    """The initializers of a model with their tensors."""
    values = model.graph.initializers.values()
    return [(each, each.const_value) for each in values if each.const_value is not None]


def _write_with_data(
    model: ir.Model, weights: Sequence[tuple[ir.Value, ir.TensorProtocol]], path: Path
) -> None:
    """Write the weights to a new file, and then the model that names it."""
    data = path.with_name(f"{path.name}.{secrets.token_hex(4)}.data")
    try:
        large = [each for each in weights if each[1].nbytes >= _SMALLEST_EXTERNAL]
        stored = ir.external_data.convert_tensors_to_external(
            [tensor for _, tensor in large], path.parent, data.name
        )
        for (value, _), tensor in zip(large, stored, strict=True):
            value.const_value = tensor
        with atomic_write(path) as file:
            _flush(data)
            file.write(_serialized(model))
    except BaseException:
        data.unlink(missing_ok=True)
        raise


def _serialized(model: ir.Model) -> bytes:
    """The content of the file.

    Raises:
        ValueError: protocol buffers refuse it.
    """
    try:
        return ir.to_proto(model).SerializeToString()
    except Exception as error:
        raise ValueError(
            f"the model cannot be written as one file ({error}); export it with "
            "`external_data=True`, which stores the weights beside it"
        ) from error


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
    return [each for each in path.parent.iterdir() if name.fullmatch(each.name)]
