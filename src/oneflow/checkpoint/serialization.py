"""`save` and `load`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from tqdm import tqdm

from oneflow.base.device import Device
from oneflow.checkpoint import oneflow_folder, tensor_file, torch_file
from oneflow.checkpoint.structure import Decoder, Encoder
from oneflow.runtime.eager import read_array
from oneflow.tensor.tensor import Tensor

_STRUCTURE = "oneflow.structure"
_PROGRESS_FROM = 2**30

# The file by which a folder with a saved program is known.
PROGRAM_FILE = "program.json"


class ProgramStore(NamedTuple):
    """How programs are saved and loaded; the room of graphs, above this one, enters how it does."""

    kind: type
    save: Callable[[Any, Any], None]
    load: Callable[[Any], Any]


PROGRAM_STORES: list[ProgramStore] = []

Location = str | Device | Mapping[str, str] | Callable[[Device], Any] | None


def save(
    obj: Any,
    path: str | os.PathLike | BinaryIO,
    global_dst_rank: int | None = None,
    *,
    consistent_dst_rank: int | None = None,
) -> None:
    """Save tensors inside dicts, lists, tuples and sets, with numbers and text beside them.

    The file is a safetensors file whose metadata describe the nesting. It appears under its name
    only when it is complete. Tensors that share their memory are stored once and loaded as one.

    Args:
        obj: what to save, such as ``{"model": model.state_dict(), "optimizer":
            optimizer.state_dict()}``; or a graph, see `nn.Graph.save`.
        path: file name, or a file open for writing bytes.
        global_dst_rank: the process that writes the file, when there are several.
        consistent_dst_rank: another name of `global_dst_rank`.

    Raises:
        TypeError: something in `obj` is code, an object of a class, or else not plain data; names
            its place.
        FileNotFoundError: the folder does not exist.

    Example:
        >>> import io
        >>> import oneflow as flow
        >>> file = io.BytesIO()
        >>> flow.save({"weight": flow.ones(2), "step": 3}, file)
        >>> _ = file.seek(0)
        >>> flow.load(file)
        {'weight': tensor([1., 1.], dtype=oneflow.float32), 'step': 3}
    """
    _check_rank("global_dst_rank", global_dst_rank, consistent_dst_rank)
    for store in PROGRAM_STORES:
        if isinstance(obj, store.kind):
            store.save(obj, path)
            return
    encoder = Encoder()
    structure = encoder.encode(obj)
    arrays = {name: _host_array(tensor) for name, tensor in encoder.tensors.items()}
    metadata = {"format": "oneflow", _STRUCTURE: json.dumps(structure)}
    target = Path(path) if isinstance(path, str | os.PathLike) else path
    tensor_file.write(target, arrays, metadata)


def _host_array(tensor: Tensor | np.ndarray) -> np.ndarray:
    return np.asarray(read_array(tensor.value)) if isinstance(tensor, Tensor) else tensor


def load(
    path: str | os.PathLike | BinaryIO,
    global_src_rank: int | None = None,
    map_location: Location = None,
    *,
    support_pytorch_format: bool = True,
    consistent_src_rank: int | None = None,
    weights_only: bool = True,
    mmap: bool | None = None,
) -> Any:
    """Load what `save` stored, graphs too; safetensors and PyTorch files; old OneFlow folders.

    Nothing in a file is ever executed.

    Args:
        path: file or folder name, or a file open for reading bytes.
        global_src_rank: the process that reads the file, when there are several.
        map_location: where tensors go: a device, a dict from saved to new devices, or a function
            of the saved device; default: the device they were saved from. May be given in second
            place, as in PyTorch.
        support_pytorch_format: whether to read PyTorch's files.
        consistent_src_rank: another name of `global_src_rank`.
        weights_only: accepted; loading never does more.
        mmap: accepted; large files are always mapped.

    Returns:
        The object; for a plain safetensors file a dict of tensors.

    Raises:
        FileNotFoundError: there is no such file.
        RuntimeError: the file is damaged or of another kind; or a device is missing here.

    Example:
        >>> import tempfile, pathlib
        >>> import oneflow as flow
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder) / "model.safetensors"
        ...     flow.save({"weight": flow.ones(2)}, file)
        ...     flow.load(file, map_location="cpu")
        {'weight': tensor([1., 1.], dtype=oneflow.float32)}
    """
    if global_src_rank is not None and not isinstance(global_src_rank, int):
        map_location, global_src_rank = global_src_rank, None
    _check_rank("global_src_rank", global_src_rank, consistent_src_rank)
    place = _placement(map_location)
    if not isinstance(path, str | os.PathLike):
        return _load_content(path.read(), place, support_pytorch_format)
    source = Path(path)
    if (source / PROGRAM_FILE).exists() and PROGRAM_STORES:
        return PROGRAM_STORES[0].load(source)
    if source.is_dir():
        return oneflow_folder.load(source, place)
    if not source.exists():
        raise FileNotFoundError(f"cannot load `{source}`: there is no such file or folder")
    with source.open("rb") as file:
        head = file.read(torch_file.HEAD_BYTES)
        if support_pytorch_format and torch_file.recognizes(head):
            file.seek(0)
            return torch_file.load(file, str(source), place)
    return _decoded(tensor_file.open_path(source), place, source.stat().st_size, str(source))


def _load_content(content: bytes, place: Callable, support_pytorch_format: bool) -> Any:
    if support_pytorch_format and torch_file.recognizes(content[: torch_file.HEAD_BYTES]):
        return torch_file.load_bytes(content, place)
    return _decoded(tensor_file.open_bytes(content), place, len(content), "the data")


def _decoded(opened: tensor_file.TensorFile, place: Callable, size: int, label: str) -> Any:
    """The object in an open tensor file."""
    # `disable=None` shows the bar on terminals only.
    hidden = None if size >= _PROGRESS_FROM else True
    with tqdm(total=len(opened.names), desc="Loading", unit="tensor", disable=hidden) as progress:

        def read(name: str) -> np.ndarray:
            progress.update()
            return opened.read(name)

        text = opened.metadata.get(_STRUCTURE)
        if text is None:
            home = place(Device("cpu"))
            return {name: Tensor._import(read(name), None, home) for name in opened.names}
        try:
            return Decoder(read, place).decode(json.loads(text))
        except (ValueError, KeyError, TypeError) as error:
            raise RuntimeError(
                f"cannot load `{label}`: its description is damaged ({error})"
            ) from error


def _placement(map_location: Location) -> Callable[[Device], Device]:
    """`map_location` as a function from saved devices to devices."""
    if map_location is None:
        return lambda saved: saved
    if isinstance(map_location, str | Device):
        chosen = Device(map_location)
        return lambda saved: chosen
    if isinstance(map_location, Mapping):
        table = {Device(old): Device(new) for old, new in map_location.items()}
        return lambda saved: table.get(saved, saved)
    if callable(map_location):
        return lambda saved: Device(map_location(saved))
    raise TypeError(
        "`map_location` must be a device, a dict of devices or a function of a device, "
        f"got {type(map_location).__name__}"
    )


def _check_rank(name: str, rank: int | None, other_spelling: int | None) -> None:
    given = rank if rank is not None else other_spelling
    if given is not None and given != 0:
        raise ValueError(f"`{name}` is {given}, but there is one process only, number 0")
