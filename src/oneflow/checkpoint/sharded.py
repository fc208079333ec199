"""Checkpoint folders to which every rank writes its own parts of global tensors.

    path/checkpoint.json                  the manifest: written last, replaced at once
    path/parts-<number>/rank<r>-<n>.safetensors

A save fills a new ``parts`` folder, and only when all of its files are on disk does the manifest
name it; then the folder of the save before is removed. Whatever stops a save, the manifest names
files that are complete.
"""

from __future__ import annotations

import contextlib
import math
import secrets
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from oneflow.base import cluster
from oneflow.base.dtype import from_numpy_dtype
from oneflow.base.placement import Placement
from oneflow.checkpoint import tensor_file
from oneflow.checkpoint.atomic_file import flush_folder
from oneflow.checkpoint.collective_io import propagate_errors, runs_rank
from oneflow.checkpoint.load_errors import LoadError, load_errors
from oneflow.checkpoint.manifest import (
    FOLDER_PATTERN,
    MANIFEST,
    PROGRAM_FILE,
    Entry,
    Manifest,
    folder_name,
    named_folder,
    read_manifest,
)
from oneflow.checkpoint.map_location import RestoreLocation
from oneflow.checkpoint.progress import progress_bar
from oneflow.checkpoint.save_versions import make_folder, remove_old_versions
from oneflow.checkpoint.shard_assignment import (
    SavedShard,
    ShardAssignment,
    ShardToSave,
    assign_shards,
)
from oneflow.checkpoint.structure import StructureDecoder
from oneflow.checkpoint.tensor_reader import TensorReader
from oneflow.runtime.eager import read_array
from oneflow.runtime.shards import local_shard
from oneflow.tensor.call import wrap
from oneflow.tensor.global_values import all_gather_ints, convert_sbp, default_gradient_sbp
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap

Tensors = Mapping[str, Tensor | np.ndarray]


def save(structure: Any, tensors: Tensors, root: Path) -> None:
    """Save tensors, each rank its parts; all processes call this.

    Args:
        structure: the object around the tensors; that of rank 0 counts, as do its local tensors.
        tensors: by the names that they have in `structure`.
        root: the folder, on a file system that all processes see.

    Raises:
        ValueError: the ranks' global tensors differ.
        RuntimeError: another rank could not write its parts.
    """
    tensors = {name: _without_sums(tensor) for name, tensor in tensors.items()}
    assignment = assign_shards(tensors)
    folder = root / folder_name(_shared_number(tensors, assignment))
    is_first = cluster.rank() == 0
    try:
        with contextlib.ExitStack() as stack:
            with propagate_errors(f"make `{folder}`"):
                if is_first:
                    _make_root(root)
                    stack.enter_context(make_folder(folder))
            with propagate_errors(f"write its parts to `{root}`"):
                root.mkdir(exist_ok=True)
                folder.mkdir(exist_ok=True)
                files = [file for file in assignment.files if runs_rank(assignment.ranks[file])]
                _write_parts(files, assignment, tensors, folder)
            with propagate_errors(f"complete `{root}`"):
                if is_first:
                    _manifest_of(structure, tensors, assignment, folder).write(root)
    finally:
        if is_first:
            remove_old_versions(root, FOLDER_PATTERN, lambda: named_folder(root))


def save_local(structure: Any, arrays: Mapping[str, np.ndarray], root: Path) -> None:
    """Save arrays that this process has to a folder that exists, whatever other processes do.

    Args:
        structure: the object around the arrays.
        arrays: by the names that they have in `structure`.
        root: the folder.
    """
    assignment = assign_shards(arrays)
    folder = root / folder_name(secrets.randbits(62))
    try:
        _make_root(root)
        with make_folder(folder):
            _write_parts(list(assignment.files), assignment, arrays, folder)
            _manifest_of(structure, arrays, assignment, folder).write(root)
    finally:
        remove_old_versions(root, FOLDER_PATTERN, lambda: named_folder(root))


def _without_sums(tensor: Tensor | np.ndarray) -> Tensor | np.ndarray:
    """A tensor whose parts are parts of the whole: partial sums are added up."""
    if not isinstance(tensor, Tensor) or unwrap(tensor).spec.sbp is None:
        return tensor
    sbp = unwrap(tensor).spec.sbp
    full_sbp = default_gradient_sbp(sbp)
    return tensor if full_sbp == sbp else wrap(convert_sbp(unwrap(tensor).alias(), full_sbp))


def _shared_number(tensors: Tensors, assignment: ShardAssignment) -> int:
    """A new number for this save, the same in all processes, which must assign shards alike."""
    description = [
        (name, tensor.dtype.name, tensor.shape, assignment.parts[name])
        for name, tensor in tensors.items()
        if isinstance(tensor, Tensor) and unwrap(tensor).spec.sbp is not None
    ]
    local = [secrets.randbits(62), zlib.crc32(repr(description).encode())]
    gathered = all_gather_ints(local, Placement.all("cpu"))
    others = np.flatnonzero(gathered[:, 1] != gathered[0, 1])
    if others.size:
        raise ValueError(
            f"rank {others[0]} saves other global tensors than rank 0: all ranks must save an "
            "object with the same global tensors at the same keys, and local tensors of the same "
            "shapes"
        )
    return int(gathered[0, 0])


def _make_root(root: Path) -> None:
    if root.exists() and not root.is_dir():
        raise FileExistsError(
            f"cannot save to `{root}`: it is a file, and an object with global tensors is saved as "
            "a folder; remove it, or give `global_dst_rank` to save whole tensors to a file"
        )
    if (root / PROGRAM_FILE).exists():
        raise FileExistsError(f"cannot save to `{root}`: it is a saved graph; choose another name")
    root.mkdir(parents=True, exist_ok=True)
    flush_folder(root.parent)


def _write_parts(
    files: list[str], assignment: ShardAssignment, tensors: Tensors, folder: Path
) -> None:
    """Write the files of this process."""
    size = sum(assignment.bytes[rank] for rank in {assignment.ranks[file] for file in files})
    with progress_bar("Saving", "B", size, size) as bar:
        for file in files:
            arrays = {
                shard.name: _array(tensors[shard.name], shard) for shard in assignment.files[file]
            }
            tensor_file.write(folder / file, arrays, {})
            bar.update(sum(array.nbytes for array in arrays.values()))


def _array(tensor: Tensor | np.ndarray, shard: ShardToSave) -> np.ndarray:
    if not isinstance(tensor, Tensor):
        return tensor
    array = read_array(unwrap(tensor))
    if shard.device_index is None:
        return np.asarray(array)
    return np.asarray(local_shard(array, unwrap(tensor).spec, shard.device_index))


def _manifest_of(
    structure: Any, tensors: Tensors, assignment: ShardAssignment, folder: Path
) -> Manifest:
    """The manifest of files that all ranks have written."""
    files = {}
    for file in assignment.files:
        try:
            files[file] = (folder / file).stat().st_size
        except FileNotFoundError:
            raise RuntimeError(
                f"rank {assignment.ranks[file]} has written `{folder / file}`, but rank 0 does not "
                "see it: all processes must save to a folder that they share"
            ) from None
    entries = {
        name: Entry(_dtype(tensor), tuple(tensor.shape), assignment.parts[name])
        for name, tensor in tensors.items()
    }
    return Manifest(folder.name, files, entries, structure)


def _dtype(tensor: Tensor | np.ndarray) -> Any:
    return tensor.dtype if isinstance(tensor, Tensor) else from_numpy_dtype(tensor.dtype)


def load(root: Path, restore_location: RestoreLocation) -> Any:
    """The object in a folder.

    Global tensors are read when they are needed, and where; processes need not call this together.

    Raises:
        RuntimeError: the folder is incomplete, damaged or of a newer version.
    """
    manifest = read_manifest(root)
    file_handle = _Folder(root, manifest)
    size = sum(manifest.files.values())
    reader = TensorReader(file_handle, restore_location, size)
    with load_errors(root, f"its `{MANIFEST}` is damaged"):
        return StructureDecoder(reader.read, reader.make, size).decode(manifest.structure)


class _Folder:
    """The files that a manifest names; each is opened when something in it is needed."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self.names = list(manifest.tensors)
        self._root = root
        self._manifest = manifest
        self._open_files: dict[str, tensor_file.TensorFile] = {}
        for file in manifest.files:
            self._check(file)
        tensors = manifest.tensors.values()
        total = sum(math.prod(tensor.shape) * tensor.dtype.itemsize for tensor in tensors)
        if total > sum(manifest.files.values()):
            raise LoadError(
                f"cannot load `{root}`: its `{MANIFEST}` is damaged (its tensors have {total} "
                "bytes, more than its files)"
            )

    def shape_and_dtype(self, name: str) -> tuple[tuple[int, ...], np.dtype]:
        """Shape and dtype of a tensor."""
        entry = self._manifest.tensors[name]
        return entry.shape, np.dtype(entry.dtype.numpy)

    def read(self, name: str) -> np.ndarray:
        """All of a tensor."""
        return self.part(name, tuple([slice(0, n) for n in self._manifest.tensors[name].shape]))

    def part(self, name: str, slices: tuple[slice, ...]) -> np.ndarray:
        """A part of a tensor, from all files that have something of it."""
        entry = self._manifest.tensors[name]
        sizes = tuple([region.stop - region.start for region in slices])
        result = np.empty(sizes, entry.dtype.numpy)
        for part in entry.parts:
            common = _common(slices, part)
            if common is None:
                continue
            block = self._block(name, part, _shifted(common, part.offsets))
            if block.dtype != result.dtype:
                raise LoadError(self._mismatch(name, part))
            if block.shape == sizes:
                return block
            result[_shifted(common, [region.start for region in slices])] = block
        return result

    def _block(self, name: str, part: SavedShard, slices: tuple[slice, ...]) -> np.ndarray:
        file_handle = self._file(part.file)
        if name not in file_handle.names or file_handle.shape_and_dtype(name)[0] != part.sizes:
            raise LoadError(self._mismatch(name, part))
        return file_handle.part(name, slices)

    def _mismatch(self, name: str, part: SavedShard) -> str:
        return (
            f"cannot load `{self._root}`: what `{part.file}` has of `{name}` is not what "
            f"`{MANIFEST}` says"
        )

    def _file(self, file: str) -> tensor_file.TensorFile:
        file_handle = self._open_files.get(file)
        if file_handle is None:
            self._check(file)
            path = self._root / self._manifest.folder / file
            file_handle = self._open_files[file] = tensor_file.open_path(path)
        return file_handle

    def _check(self, file: str) -> None:
        """Make sure that a file is there, and complete."""
        root, manifest = self._root, self._manifest
        path = root / manifest.folder / file
        size = path.stat().st_size if path.exists() else None
        if size == manifest.files[file]:
            return
        if read_manifest(root).folder != manifest.folder:
            raise LoadError(
                f"cannot load `{root}`: it has been saved again since it was opened, which removed "
                "the files; load it again"
            )
        problem = "is missing" if size is None else f"has {size} bytes"
        raise LoadError(
            f"cannot load `{root}`: `{manifest.folder}/{file}` {problem}, and should have "
            f"{manifest.files[file]} bytes"
        )


def _common(slices: tuple[slice, ...], part: SavedShard) -> tuple[slice, ...] | None:
    """Return the part of `slices` that is in one part of the tensor, as slices of the tensor."""
    common = []
    for region, start, size in zip(slices, part.offsets, part.sizes, strict=True):
        first, last = max(region.start, start), min(region.stop, start + size)
        if first >= last:
            return None
        common.append(slice(first, last))
    return tuple(common)


def _shifted(slices: tuple[slice, ...], origin: Sequence[int]) -> tuple[slice, ...]:
    """Slices counted from `origin`."""
    return tuple([slice(e.start - at, e.stop - at) for e, at in zip(slices, origin, strict=True)])
