"""The manifest of a checkpoint folder: its files and their contents.

It is one JSON file. Saving writes new files into a new folder beside those of the last save, and
then replaces the manifest, which is what makes them the checkpoint.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from oneflow.base.dtype import DType, dtype_named
from oneflow.checkpoint.atomic_file import atomic_write
from oneflow.checkpoint.load_errors import LoadError, load_errors
from oneflow.checkpoint.shard_assignment import SavedShard, is_partition

MANIFEST = "checkpoint.json"
# The file by which a folder with a saved program is known.
PROGRAM_FILE = "program.json"
_FORMAT = "oneflow.checkpoint"
_VERSION = 1
FOLDER_PATTERN = "parts-" + 16 * "[0-9a-f]"
_FOLDER = re.compile(FOLDER_PATTERN)
_FILE = re.compile(r"rank\d+-\d+\.safetensors")


class Entry(NamedTuple):
    """A tensor as a manifest describes it.

    Attributes:
        dtype: its element type.
        shape: the shape of the whole.
        parts: what it consists of.
    """

    dtype: DType
    shape: tuple[int, ...]
    parts: list[SavedShard]


class Manifest(NamedTuple):
    """The contents of a checkpoint folder.

    Attributes:
        folder: name of the folder inside it that has the files.
        files: their sizes in bytes.
        tensors: tensors by name.
        structure: the object, as `oneflow.checkpoint.structure` describes it.
    """

    folder: str
    files: Mapping[str, int]
    tensors: Mapping[str, Entry]
    structure: Any

    def write(self, root: Path) -> None:
        """Make this what `root` holds, at once."""
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "folder": self.folder,
            "files": self.files,
            "tensors": {
                name: {"dtype": entry.dtype.name, "shape": entry.shape, "parts": entry.parts}
                for name, entry in self.tensors.items()
            },
            "structure": self.structure,
        }
        with atomic_write(root / MANIFEST) as file:
            file.write(json.dumps(content).encode())


def folder_name(number: int) -> str:
    """The name of a folder for the files of one save."""
    return f"parts-{number:016x}"


def named_folder(root: Path) -> str | None:
    """The folder that counts now; None before the first save is complete.

    Raises:
        RuntimeError: the manifest is damaged.
    """
    return read_manifest(root).folder if (root / MANIFEST).exists() else None


def is_checkpoint(root: Path) -> bool:
    """Return whether a folder holds, or should have come to hold, a checkpoint in parts."""
    patterns = (MANIFEST, FOLDER_PATTERN, f".{FOLDER_PATTERN}.lock")
    return any(any(root.glob(pattern)) for pattern in patterns) or not any(root.iterdir())


def read_manifest(root: Path) -> Manifest:
    """Return the manifest of a checkpoint folder.

    Raises:
        RuntimeError: no save into it was ever completed, or its manifest is damaged or of a newer
            version.
    """
    path = root / MANIFEST
    if not path.exists():
        raise RuntimeError(
            f"cannot load `{root}`: saving it was never completed (it has no `{MANIFEST}`, which "
            "is written last)"
        )
    with load_errors(root, f"its `{MANIFEST}` is damaged"):
        content = json.loads(path.read_text())
        if content["format"] != _FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
        version = int(content["version"])
        if version <= _VERSION:
            return _manifest_of(content)
    raise LoadError(
        f"cannot load `{root}`: it has version {version} of the format, from a newer OneFlow; this "
        f"one knows versions up to {_VERSION}"
    )


def _manifest_of(content: dict[str, Any]) -> Manifest:
    files = {name: int(size) for name, size in content["files"].items()}
    for name, pattern in (*((file, _FILE) for file in files), (content["folder"], _FOLDER)):
        if not pattern.fullmatch(name):
            raise ValueError(f"{name!r} is no name that saving gives")
    tensors = {name: _entry_of(name, tensor, files) for name, tensor in content["tensors"].items()}
    return Manifest(content["folder"], files, tensors, content["structure"])


def _entry_of(name: str, data: dict[str, Any], files: Mapping[str, int]) -> Entry:
    shape = _sizes(data["shape"])
    parts = [
        SavedShard(file, _sizes(starts), _sizes(sizes)) for file, starts, sizes in data["parts"]
    ]
    for part in parts:
        if part.file not in files:
            raise ValueError(f"`{name}` is in {part.file!r}, which is none of its files")
    if math.prod(shape) and not is_partition(parts, shape):
        raise ValueError(f"the parts of `{name}` do not cover its shape {shape} exactly")
    return Entry(dtype_named(data["dtype"]), shape, parts)


def _sizes(numbers: Any) -> tuple[int, ...]:
    """Whole numbers that are not negative."""
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError(f"{numbers!r} are no sizes")
    return tuple(numbers)
