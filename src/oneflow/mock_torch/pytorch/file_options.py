"""Names of ``torch.serialization`` for how files are written and read."""

from __future__ import annotations

import contextlib
import mmap
import shutil
import sys
import tempfile
from collections.abc import Iterator
from enum import Enum
from typing import Any, NoReturn

from oneflow.checkpoint.torch_file import BYTE_ORDER
from oneflow.mock_torch.missing import raise_missing


class SourceChangeWarning(Warning):
    """A warning that a class in a file has another source today; files keep no sources here."""


class LoadEndianness(Enum):
    """The order of bytes in files that do not name theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_options: dict[str, Any] = {"crc32": True, "byte order": None}


def get_crc32_options() -> bool:
    """Return what `set_crc32_options` was given last."""
    return _options["crc32"]


def set_crc32_options(compute_crc32: bool) -> None:
    """Keep whether archives need checksums; they always have them.

    Args:
        compute_crc32: False allows archives without.
    """
    _options["crc32"] = compute_crc32


def get_default_load_endianness() -> LoadEndianness | None:
    """Return what `set_default_load_endianness` was given last."""
    return _options["byte order"]


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the order of bytes in files that do not name theirs, as those before PyTorch 2.1.

    Args:
        endianness: the order; None means little, as on nearly all machines.

    Raises:
        TypeError: it is no order.
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _options["byte order"] = endianness
    is_native = endianness is LoadEndianness.NATIVE
    order = LoadEndianness.LITTLE if endianness is None else endianness
    BYTE_ORDER.default = sys.byteorder if is_native else order.name.lower()


def get_default_mmap_options() -> int:
    """Return ``mmap.MAP_PRIVATE``: writes to a tensor of a file change no file."""
    return mmap.MAP_PRIVATE


def set_default_mmap_options(flags: int) -> None:
    """Choose how the memory of tensors and files is connected.

    Args:
        flags: ``mmap.MAP_PRIVATE``.

    Raises:
        ValueError: the flags are others than `mmap` has for that.
        NotImplementedError: writes to a tensor were to change the file.
    """
    if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
        raise ValueError(
            "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or "
            f"mmap.MAP_SHARED, but got {flags}"
        )
    if flags == mmap.MAP_SHARED:
        raise_missing(
            "torch.serialization.set_default_mmap_options(mmap.MAP_SHARED)",
            "tensors of files are copies",
        )


def skip_data(materialize_fake_tensors: bool = False) -> NoReturn:
    """Refuse a block in which files are written without what tensors hold."""
    raise_missing(
        "torch.serialization.skip_data", "a file of `torch.save` holds the contents of its tensors"
    )


@contextlib.contextmanager
def mkdtemp() -> Iterator[str]:
    """Give the path of a new folder, which is removed at the end of the block."""
    path = tempfile.mkdtemp()
    try:
        yield path
    finally:
        shutil.rmtree(path)


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple[Any, ...], error_if_malformed: bool = True
) -> bool:
    """Return whether a module's ``__version__`` is at least another one.

    Args:
        module: the module.
        req_version_tuple: the parts of the other version.
        error_if_malformed: whether to raise if the versions cannot be compared; else they count as
            recent enough.

    Raises:
        RuntimeError: the versions cannot be compared.
    """
    try:
        parts = module.__version__.split(".")
        pairs = zip(req_version_tuple, parts, strict=False)
        return tuple(type(required)(part) for required, part in pairs) >= req_version_tuple
    except Exception as error:
        if error_if_malformed:
            raise RuntimeError(
                f"'{module}' module version string is malformed '{module.__version__}' and cannot "
                f"be compared with tuple {req_version_tuple}"
            ) from error
        return True


__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "check_module_version_greater_or_equal",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "mkdtemp",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
]
