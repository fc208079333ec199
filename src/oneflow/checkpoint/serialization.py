"""`save` and `load`."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from oneflow.base import cluster
from oneflow.base.device import CPU
from oneflow.base.hook import Hook
from oneflow.base.keyword_aliases import keyword_aliases
from oneflow.checkpoint import (
    manifest,
    oneflow_folder,
    pickled_objects,
    sharded,
    tensor_file,
    torch_file,
)
from oneflow.checkpoint.collective_io import propagate_errors, runs_rank
from oneflow.checkpoint.load_errors import load_errors
from oneflow.checkpoint.manifest import PROGRAM_FILE
from oneflow.checkpoint.map_location import Location, make_restore_location
from oneflow.checkpoint.single_rank import host_arrays, is_global, load_from_rank
from oneflow.checkpoint.structure import StructureDecoder, StructureEncoder
from oneflow.checkpoint.tensor_reader import TensorReader

_STRUCTURE = "oneflow.structure"


class ProgramStore(NamedTuple):
    """The functions that save and load graphs, which the room above this one provides."""

    kind: type
    save: Callable[[Any, Any], None]
    load: Callable[[Any], Any]


PROGRAM_STORE: Hook[ProgramStore] = Hook("PROGRAM_STORE", "oneflow.graph.graph")


@keyword_aliases(f="path", path_or_buffer="path")
def save(
    obj: Any,
    path: str | os.PathLike[str] | BinaryIO,
    global_dst_rank: int | None = None,
    save_as_external_data: bool = False,
    *,
    consistent_dst_rank: int | None = None,
    pickle_module: Any = None,
    pickle_protocol: int | None = None,
) -> None:
    """Save tensors inside dicts, lists, tuples and sets, with numbers and text beside them.

    Counters, namespaces, paths, ranges and other plain objects of the standard library stay what
    they are; other mappings and sequences, such as a configuration's, become dicts, lists and
    tuples.

    The file is a safetensors file whose metadata describe the nesting. It appears under its name
    only when it is complete. Tensors that share elements are stored once and share them again when
    they are loaded.

    An object with global tensors is saved as a folder, in which each rank writes its own parts; all
    processes call this together. The folder changes at once when all parts are on disk; until then
    it holds what was saved before. Local objects are saved from rank 0. An object without global
    tensors is saved by each process that calls this, whatever others do.

    A module is saved as the names of its classes and its attributes; to load it, the program must
    have imported these classes.

    Args:
        obj: what to save, such as ``{"model": model.state_dict(), "optimizer":
            optimizer.state_dict()}``; a module; or a graph, see `nn.Graph.save`.
        path: file or folder name, or a file open for writing bytes. Folders around it are made. A
            folder that exists gets the files that an object with global tensors is saved as.
        global_dst_rank: save whole tensors, which this rank writes alone, to a file; all processes
            call this together.
        save_as_external_data: save as a folder, which is made, what would be a file; without
            effect on a file that is open.
        consistent_dst_rank: another name of `global_dst_rank`.
        pickle_module: a module like `pickle`, for objects of other classes; they are loaded with
            ``weights_only=False`` only. Nothing is pickled by default.
        pickle_protocol: accepted; has no effect.

    Raises:
        TypeError: something in `obj` is code, an object of a class, or else not plain data; names
            its place.
        OSError: the disk is full, or the file system refuses anything else; names the path. A file
            that was there before stays.
        RuntimeError: another rank could not write its part.

    Example:
        >>> import io
        >>> import oneflow as flow
        >>> file = io.BytesIO()
        >>> flow.save({"weight": flow.ones(2), "step": 3}, file)
        >>> _ = file.seek(0)
        >>> flow.load(file)
        {'weight': tensor([1., 1.], dtype=oneflow.float32), 'step': 3}
    """
    rank = _given_rank("global_dst_rank", global_dst_rank, consistent_dst_rank)
    if isinstance(obj, PROGRAM_STORE.value.kind):
        PROGRAM_STORE.value.save(obj, path)
        return
    encoder = StructureEncoder(gathered=rank is not None, pickle_module=pickle_module)
    structure = encoder.encode(obj)
    target = Path(path) if isinstance(path, str | os.PathLike) else path
    is_shared = any(map(is_global, encoder.tensors.values()))
    if rank is None and is_shared:
        if not isinstance(target, Path):
            raise TypeError(
                "an object with global tensors is saved as a folder: give the name of one, or "
                "`global_dst_rank` to write whole tensors to a file"
            )
        sharded.save(structure, encoder.tensors, target)
        return
    arrays = host_arrays(encoder.tensors, rank)
    with propagate_errors(f"write `{path}`") if is_shared else contextlib.nullcontext():
        if rank is None or runs_rank(rank):
            if save_as_external_data and isinstance(target, Path):
                _make_folder(target)
            _write(structure, arrays, target)


def _make_folder(target: Path) -> None:
    if target.exists() and not target.is_dir():
        raise FileExistsError(
            f"`save_as_external_data` saves a folder, but `{target}` is a file: delete it, or give "
            "another name"
        )
    target.mkdir(parents=True, exist_ok=True)


def _write(structure: Any, arrays: Mapping[str, np.ndarray], target: Path | BinaryIO) -> None:
    if isinstance(target, Path) and target.is_dir():
        sharded.save_local(structure, arrays, target)
    else:
        if isinstance(target, Path):
            target.parent.mkdir(parents=True, exist_ok=True)
        tensor_file.write(target, arrays, {_STRUCTURE: json.dumps(structure)})


@keyword_aliases(f="path")
def load(
    path: str | os.PathLike[str] | BinaryIO,
    global_src_rank: int | None = None,
    map_location: Location | None = None,
    *,
    support_pytorch_format: bool = True,
    consistent_src_rank: int | None = None,
    weights_only: bool | None = True,
    mmap: bool | None = None,
    pickle_module: Any = None,
) -> Any:
    """Load what `save` stored, graphs too; safetensors and PyTorch files; old OneFlow folders.

    Nothing in a file is executed, unless ``weights_only=False`` asks for it.

    Global tensors are read when they are needed: `load_state_dict` reads of each only what the
    process needs for its own tensor, whatever placement and SBP either has. The folder must not
    change until then.

    Args:
        path: file or folder name, or a file open for reading bytes, which afterwards stands behind
            the object, so that several may be saved one after another.
        global_src_rank: the rank that reads the file, when the others cannot. All processes call
            this together. Every tensor becomes a global one on that rank's device.
        map_location: where tensors go: a device (global tensors become whole local ones), a
            placement (tensors become global and broadcast), a pair ``(placement, sbp)``, a dict
            from saved to new devices or placements, or a function of the saved device or placement;
            default: where they were saved. May be given in second position, as in PyTorch.
        support_pytorch_format: whether to read PyTorch's files.
        consistent_src_rank: another name of `global_src_rank`.
        weights_only: False if you trust the file: objects that are pickled in it are made, which
            runs whatever the file says. Without them it changes nothing.
        mmap: accepted; large files are always mapped.
        pickle_module: a module like `pickle`, which reads the pickles of a file that you trust.

    Returns:
        The object; for a plain safetensors file a dict of tensors.

    Raises:
        FileNotFoundError: there is no such file.
        RuntimeError: the file is damaged, of another kind, or holds something that is refused;
            names the file and says what. Or a device is missing here.

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
    rank = _given_rank("global_src_rank", global_src_rank, consistent_src_rank)
    with pickled_objects.trusting(weights_only is False, pickle_module):
        if rank is None:
            return _load(path, make_restore_location(map_location), support_pytorch_format)

        def load_object(restore_location: Callable) -> Any:
            return _load(path, restore_location, support_pytorch_format)

        return load_from_rank(rank, load_object, map_location)


def _load(path: Any, restore_location: Callable, support_pytorch_format: bool) -> Any:
    """Return the result of `load`, read by this process alone."""
    if not isinstance(path, str | os.PathLike):
        return _load_stream(path, restore_location, support_pytorch_format)
    source = Path(path)
    if source.is_dir():
        return _load_folder(source, restore_location)
    if not source.exists():
        raise FileNotFoundError(f"cannot load `{source}`: there is no such file or folder")
    with source.open("rb") as file:
        head = file.read(torch_file.HEAD_BYTES)
        if support_pytorch_format and torch_file.is_torch_file(head):
            file.seek(0)
            return torch_file.load(file, str(source), restore_location)
    return _decode(
        tensor_file.open_path(source), restore_location, source.stat().st_size, str(source)
    )


def _load_folder(source: Path, restore_location: Callable) -> Any:
    if manifest.is_checkpoint(source):
        return sharded.load(source, restore_location)
    if (source / PROGRAM_FILE).exists():
        return PROGRAM_STORE.value.load(source)
    return oneflow_folder.load(source, restore_location)


def _load_stream(file: BinaryIO, restore_location: Callable, support_pytorch_format: bool) -> Any:
    """The object at the place where an open file stands; others may follow it."""
    head = file.read(torch_file.HEAD_BYTES)
    if support_pytorch_format and torch_file.is_torch_file(head):
        return torch_file.load_stream(file, head, restore_location)
    content = tensor_file.read_content(file, head)
    return _decode(tensor_file.open_bytes(content), restore_location, len(content), "the data")


def _decode(
    file_handle: tensor_file.TensorFile, restore_location: Callable, size: int, label: str
) -> Any:
    """The object in an open tensor file."""
    reader = TensorReader(file_handle, restore_location, size)
    text = file_handle.metadata.get(_STRUCTURE)
    if text is None:
        return {name: reader.make(name, CPU) for name in file_handle.names}
    with load_errors(label, "its description is damaged"):
        return StructureDecoder(reader.read, reader.make, size).decode(json.loads(text))


def _given_rank(name: str, rank: int | None, alias: int | None) -> int | None:
    """The rank that a user gave by either name, checked."""
    number = rank if rank is not None else alias
    count = cluster.rank_count("cpu")
    if number is not None and not 0 <= number < count:
        raise ValueError(f"`{name}` is {number}, but there are only ranks 0 to {count - 1}")
    return number
