"""Names of ``torch.serialization``."""

from __future__ import annotations

import contextlib
import inspect
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import oneflow as flow
from oneflow.checkpoint import torch_writer
from oneflow.checkpoint.numpy_pickle import Budget
from oneflow.checkpoint.pickle_reader import string_options
from oneflow.checkpoint.pickled_objects import SAFE_GLOBALS
from oneflow.checkpoint.serialization import PROGRAM_STORE
from oneflow.checkpoint.torch_builder import TorchBuilder
from oneflow.checkpoint.torch_pickler import GlobalTensorError
from oneflow.mock_torch.pytorch.archives import (
    PyTorchFileReader,
    PyTorchFileWriter,
    is_archive,
    names_in,
    opened,
)
from oneflow.mock_torch.pytorch.file_options import (
    LoadEndianness as LoadEndianness,
    SourceChangeWarning as SourceChangeWarning,
    check_module_version_greater_or_equal as check_module_version_greater_or_equal,
    get_crc32_options as get_crc32_options,
    get_default_load_endianness as get_default_load_endianness,
    get_default_mmap_options as get_default_mmap_options,
    mkdtemp as mkdtemp,
    set_crc32_options as set_crc32_options,
    set_default_load_endianness as set_default_load_endianness,
    set_default_mmap_options as set_default_mmap_options,
    skip_data as skip_data,
)
from oneflow.mock_torch.pytorch.storage_locations import (
    StorageType as StorageType,
    default_restore_location as default_restore_location,
    location_tag as location_tag,
    normalize_storage_type as normalize_storage_type,
    register_package as register_package,
    storage_to_tensor_type as storage_to_tensor_type,
    validate_cuda_device as validate_cuda_device,
    validate_hpu_device as validate_hpu_device,
)
from oneflow.mock_torch.pytorch_names import names_of

DEFAULT_PROTOCOL = 2
FileLike = str | os.PathLike[str] | IO[bytes]
FILE_LIKE = FileLike
MapLocation = Callable[[Any, str], Any] | dict[str, str] | Any
MAP_LOCATION = MapLocation
_OF_UNPICKLER = frozenset(("encoding", "errors", "fix_imports", "buffers"))


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Save anything that can be pickled in PyTorch's format, which PyTorch itself reads, too.

    Classes and functions of this package go by their names in PyTorch, others by their own. A file
    that is named changes at once, when everything is on disk. Tensors that share memory do so again
    when they are loaded. Global tensors, and graphs, which PyTorch does not have, are saved as by
    `oneflow.save`.

    Args:
        obj: what to save.
        f: file name, or a file open for writing bytes.
        pickle_module: a module like `pickle`, whose `Pickler` pickles objects.
        pickle_protocol: the protocol of pickles; PyTorch trusts only files of the second without
            being asked to.
        _use_new_zipfile_serialization: False: as before PyTorch 1.6.
        _disable_byteorder_record: the file does not say in which order the bytes of numbers are.

    Raises:
        AttributeError: `f` is neither a name nor a file.
        RuntimeError: there is no such folder; or tensors see the same memory as elements of several
            types.
        OSError: the file system's; names the path.

    Example:
        >>> import argparse, io
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> file = io.BytesIO()
        >>> torch.save({"args": argparse.Namespace(lr=0.1)}, file)
        >>> _ = file.seek(0)
        >>> torch.load(file)
        {'args': Namespace(lr=0.1)}
    """
    if isinstance(obj, PROGRAM_STORE.value.kind):
        flow.save(obj, f)
        return
    target = _target_of(f)
    try:
        torch_writer.save(
            obj,
            target,
            pickle_module,
            pickle_protocol,
            is_archive=_use_new_zipfile_serialization,
            has_byte_order=not _disable_byteorder_record,
        )
    except GlobalTensorError:
        flow.save(obj, f, pickle_module=pickle_module)


def _target_of(f: Any) -> Any:
    """Return the path or the open file that something stands for."""
    if isinstance(f, str | os.PathLike):
        target = Path(f)
        if not target.parent.is_dir():
            raise RuntimeError(f"Parent directory {target.parent} does not exist.")
        return target
    if not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute, got "
            f"{type(f).__name__}"
        )
    return f


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Load what `save` stored, and PyTorch's own files.

    Args:
        f: file name, or a file open for reading bytes.
        map_location: where tensors go: a device, a dict from saved to new devices, or a function of
            a storage on the CPU and the name of the saved device.
        pickle_module: given, the file is trusted, and this module reads its pickles.
        weights_only: False trusts the file: objects that are pickled in it are made, which runs
            whatever it says.
        mmap: accepted; changes nothing.
        pickle_load_args: arguments of ``pickle.Unpickler``: `encoding` (default: UTF-8) and
            `errors` say how texts are read that Python 2 wrote, ``encoding="bytes"`` leaves them as
            they are; `fix_imports`.

    Raises:
        AttributeError: `f` is an object that cannot `seek` or `tell`.
        RuntimeError: the file is damaged, or holds objects and is not trusted; or a
            `pickle_module` is given for a file that is not.
    """
    if weights_only and pickle_module is not None:
        raise RuntimeError(
            "`pickle_module` reads only files that are trusted: give it without `weights_only`, or "
            "with `weights_only=False`"
        )
    if not isinstance(f, str | os.PathLike) and not (hasattr(f, "seek") and hasattr(f, "tell")):
        raise AttributeError(
            f"{type(f).__name__} cannot `seek` and `tell`. You can only torch.load from a file "
            "that is seekable. Please pre-load the data into a buffer like io.BytesIO and try to "
            "load from it instead."
        )
    if unknown := set(pickle_load_args) - _OF_UNPICKLER:
        raise TypeError(f"load() got an unexpected keyword argument {min(unknown)!r}")
    trusted = weights_only is False or (weights_only is None and pickle_module is not None)
    if callable(map_location) and not isinstance(map_location, flow.device):
        map_location = _of_saved_device(map_location)
    with string_options(**{"encoding": "utf-8", **pickle_load_args}):
        return flow.load(
            f, map_location=map_location, weights_only=not trusted, pickle_module=pickle_module
        )


class _StorageOnCPU:
    """A storage as `map_location` functions see it: they say where it goes.

    Args:
        device: where it goes.
    """

    def __init__(self, device: flow.device) -> None:
        self.device = device

    def cpu(self) -> _StorageOnCPU:
        """Return the storage on the CPU."""
        return _StorageOnCPU(flow.device("cpu"))

    def cuda(self, device: Any = None, non_blocking: bool = False) -> _StorageOnCPU:
        """Return the storage on a GPU."""
        return _StorageOnCPU(flow.device("cuda" if device is None else device))

    def to(self, *, device: Any, non_blocking: bool = False) -> _StorageOnCPU:
        """Return the storage on a device."""
        return _StorageOnCPU(flow.device(device))


def _of_saved_device(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return a function of the saved device; `function` takes a storage and the device's name."""
    try:
        inspect.signature(function).bind(None, None)
    except (TypeError, ValueError):
        return function

    def new_device(saved: Any) -> Any:
        storage = function(_StorageOnCPU(flow.device("cpu")), str(saved))
        return saved if storage is None else storage.device

    return new_device


Globals = Sequence[Any]


def _named(safe_globals: Globals) -> dict[tuple[str, str], Any]:
    """Return classes and functions by module and name; pairs name what they hold."""
    table = {}
    for entry in safe_globals:
        content, path = entry if isinstance(entry, tuple) else (entry, None)
        names = [tuple(path.rsplit(".", 1))] if path else names_of(content)
        table.update((name, content) for name in names)
    return table


def add_safe_globals(safe_globals: Globals) -> None:
    """Declare that files which are not trusted may name these classes and functions.

    Args:
        safe_globals: classes and functions, or pairs of one and the name that files have for it.
    """
    SAFE_GLOBALS.update(_named(safe_globals))


def get_safe_globals() -> list[Any]:
    """Return the classes and functions that are declared safe."""
    return list({id(content): content for content in SAFE_GLOBALS.values()}.values())


def clear_safe_globals() -> None:
    """Declare that nothing is safe."""
    SAFE_GLOBALS.clear()


@contextlib.contextmanager
def safe_globals(safe_globals: Globals) -> Iterator[None]:
    """Declare classes and functions safe inside of a context."""
    before = dict(SAFE_GLOBALS)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        SAFE_GLOBALS.clear()
        SAFE_GLOBALS.update(before)


def get_unsafe_globals_in_checkpoint(f: FileLike) -> list[str]:
    """Return the classes and functions that a file names and that nobody has declared safe.

    Nothing of the file is run.

    Args:
        f: a file that `save` wrote: its name, or the open file.

    Raises:
        ValueError: it is no such file.

    Example:
        >>> import argparse, io
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> file = io.BytesIO()
        >>> torch.save([torch.ones(2), argparse.Action], file)
        >>> _ = file.seek(0)
        >>> torch.serialization.get_unsafe_globals_in_checkpoint(file)
        ['argparse.Action']
    """
    with opened(f) as file:
        if not _is_zipfile(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        with _open_zipfile_reader(file) as archive:
            if archive.has_record("constants.pkl"):
                raise ValueError(
                    "Expected input to be a checkpoint returned by torch.save but got a "
                    "torchscript checkpoint"
                )
            named = names_in(archive.get_record("data.pkl"))
    plain = TorchBuilder(lambda device: device, Budget(0)).table()
    safe = {".".join(name) for name in (*plain, *SAFE_GLOBALS)}
    return sorted({".".join(name) for name in named} - safe)


_is_zipfile = is_archive
_open_zipfile_reader = PyTorchFileReader
_open_zipfile_writer = PyTorchFileWriter

__all__ = [
    "DEFAULT_PROTOCOL",
    "FILE_LIKE",
    "MAP_LOCATION",
    "FileLike",
    "MapLocation",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "safe_globals",
    "save",
]
