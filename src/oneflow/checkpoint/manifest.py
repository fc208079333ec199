"""The manifest of a checkpoint folder: which files belong to it, and what they hold.

It is one JSON file. Saving writes new files into a new folder beside those of the last save, and
then replaces the manifest, which is what makes them the checkpoint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from oneflow.base.dtype import DType, dtype_named
from oneflow.checkpoint.parts import Part
from oneflow.checkpoint.tensor_file import replacing

MANIFEST = "checkpoint.json"
_FORMAT = "oneflow.checkpoint"
_VERSION = 1
_FOLDER = re.compile(r"parts-[0-9a-f]{16}")
_FILE = re.compile(r"rank\d+-\d+\.safetensors")


class Entry(NamedTuple):
    """What a manifest says of a tensor.

    Attributes:
        dtype: its element type.
        shape: of the whole.
        parts: what it consists of.
    """

    dtype: DType
    shape: tuple[int, ...]
    parts: list[Part]


class Manifest(NamedTuple):
    """What a folder holds.

    Attributes:
        folder: name of the folder inside it that has the files.
        files: their sizes in bytes.
        tensors: by name.
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
        with replacing(root / MANIFEST) as partial:
            partial.write_text(json.dumps(content))


def folder_name(number: int) -> str:
    """The name of a folder for the files of one save."""
    return f"parts-{number:016x}"


def part_folders(root: Path) -> list[Path]:
    """All folders with files of saves, complete or not."""
    return [path for path in root.iterdir() if _FOLDER.fullmatch(path.name) and path.is_dir()]


def is_checkpoint(root: Path) -> bool:
    """Whether a folder is one that holds, or should have come to hold, a checkpoint in parts."""
    return (root / MANIFEST).exists() or bool(part_folders(root))


def read_manifest(root: Path) -> Manifest:
    """What a folder holds.

    Raises:
        RuntimeError: no save into it was ever completed, or its manifest is damaged or of a newer
            version.
    """
    path = root / MANIFEST
    if not path.exists():
        raise RuntimeError(
            f"cannot load `{root}`: saving it was never completed (it has parts, but no "
            f"`{MANIFEST}`, which is written last)"
        )
    try:
        content = json.loads(path.read_text())
        if content["format"] != _FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
        version = int(content["version"])
        if version <= _VERSION:
            return _manifest_of(content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RuntimeError(
            f"cannot load `{root}`: its `{MANIFEST}` is damaged ({error})"
        ) from error
    raise RuntimeError(
        f"cannot load `{root}`: it has version {version} of the format, from a newer OneFlow; this "
        f"one knows versions up to {_VERSION}"
    )


def _manifest_of(content: dict[str, Any]) -> Manifest:
    files = {name: int(size) for name, size in content["files"].items()}
    for name, pattern in (*((file, _FILE) for file in files), (content["folder"], _FOLDER)):
        if not pattern.fullmatch(name):
            raise ValueError(f"{name!r} is no name that saving gives")
    tensors = {
        name: Entry(
            dtype_named(each["dtype"]),
            tuple(map(int, each["shape"])),
            [Part(file, tuple(starts), tuple(sizes)) for file, starts, sizes in each["parts"]],
        )
        for name, each in content["tensors"].items()
    }
    return Manifest(content["folder"], files, tensors, content["structure"])
