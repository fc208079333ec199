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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from oneflow.base import cluster
from oneflow.base.dtype import from_numpy_dtype
from oneflow.base.replacing import flush_folder
from oneflow.checkpoint import tensor_file
from oneflow.checkpoint.collective_io import propagate_errors, runs_rank
from oneflow.checkpoint.damage import LoadError, loading
from oneflow.checkpoint.making import Maker
from oneflow.checkpoint.manifest import (
    FOLDERS,
    MANIFEST,
    PROGRAM_FILE,
    Entry,
    Manifest,
    folder_name,
    named_folder,
    read_manifest,
)
from oneflow.checkpoint.map_location import RestoreLocation
from oneflow.checkpoint.parts import Plan, SavedShard, Stock, planned
from oneflow.checkpoint.progress import progress_bar
from oneflow.checkpoint.save_folders import being_filled, remove_unnamed
from oneflow.checkpoint.structure import Decoder
from oneflow.runtime.eager import read_array
from oneflow.runtime.shards import local_shard
from oneflow.tensor.call import wrap
from oneflow.tensor.global_values import all_gather_ints, convert_sbp, default_gradient_sbp
from oneflow.tensor.tensor import Tensor

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
    plan = planned(tensors)
    folder = root / folder_name(_agreed_number(tensors, plan))
    leads = cluster.rank() == 0
    try:
        with contextlib.ExitStack() as stack:
            with propagate_errors(f"make `{folder}`"):
                if leads:
                    _make_root(root)
                    stack.enter_context(being_filled(folder))
            with propagate_errors(f"write its parts to `{root}`"):
                root.mkdir(exist_ok=True)
                folder.mkdir(exist_ok=True)
                _write_parts(plan, tensors, folder)
            with propagate_errors(f"complete `{root}`"):
                if leads:
                    _manifest_of(structure, tensors, plan, folder).write(root)
    finally:
        if leads:
            remove_unnamed(root, FOLDERS, lambda: named_folder(root))


def _without_sums(tensor: Tensor | np.ndarray) -> Tensor | np.ndarray:
    """A tensor whose parts are parts of the whole: partial sums are added up."""
    if not isinstance(tensor, Tensor) or tensor.value.spec.sbp is None:
        return tensor
    sbp = tensor.value.spec.sbp
    wanted = default_gradient_sbp(sbp)
    return tensor if wanted == sbp else wrap(convert_sbp(tensor.value.alias(), wanted))


def _agreed_number(tensors: Tensors, plan: Plan) -> int:
    """A new number for this save, the same in all processes, which must have the same plan."""
    known = [
        (name, tensor.dtype.name, tensor.shape, plan.parts[name])
        for name, tensor in tensors.items()
        if isinstance(tensor, Tensor) and tensor.value.spec.sbp is not None
    ]
    mine = [secrets.randbits(62), zlib.crc32(repr(known).encode())]
    told = all_gather_ints(np.array(mine, np.int64), "cpu")
    others = np.flatnonzero(told[:, 1] != told[0, 1])
    if others.size:
        raise ValueError(
            f"rank {others[0]} saves other global tensors than rank 0: all ranks must save an "
            "object with the same global tensors at the same places, and local tensors of the same "
            "shapes"
        )
    return int(told[0, 0])


def _make_root(root: Path) -> None:
    if root.exists() and not root.is_dir():
        raise FileExistsError(
            f"cannot save to `{root}`: it is a file, and an object with global tensors is saved as "
            "a folder; remove it, or give `global_dst_rank` to save whole tensors to a file"
        )
    if (root / PROGRAM_FILE).exists():
        raise FileExistsError(f"cannot save to `{root}`: it is a saved graph; choose another name")
    if not root.parent.is_dir():
        raise FileNotFoundError(f"cannot save to `{root}`: the folder around it does not exist")
    root.mkdir(exist_ok=True)
    flush_folder(root.parent)


def _write_parts(plan: Plan, tensors: Tensors, folder: Path) -> None:
    """Write the files of this process, or all if it runs all ranks."""
    own = [file for file in plan.files if runs_rank(plan.ranks[file])]
    size = sum(plan.bytes[rank] for rank in {plan.ranks[file] for file in own})
    with progress_bar("Saving", "B", size, size) as bar:
        for file in own:
            arrays = {stock.name: _array(tensors[stock.name], stock) for stock in plan.files[file]}
            tensor_file.write(folder / file, arrays, {})
            bar.update(sum(array.nbytes for array in arrays.values()))


def _array(tensor: Tensor | np.ndarray, stock: Stock) -> np.ndarray:
    if not isinstance(tensor, Tensor):
        return tensor
    array = read_array(tensor.value)
    if stock.index is None:
        return np.asarray(array)
    return np.asarray(local_shard(array, tensor.value.spec, stock.index))


def _manifest_of(structure: Any, tensors: Tensors, plan: Plan, folder: Path) -> Manifest:
    """The manifest of files that all ranks have written."""
    files = {}
    for file in plan.files:
        try:
            files[file] = (folder / file).stat().st_size
        except FileNotFoundError:
            raise RuntimeError(
                f"rank {plan.ranks[file]} has written `{folder / file}`, but rank 0 does not see "
                "it: all processes must save to a folder that they share"
            ) from None
    entries = {
        name: Entry(_dtype(tensor), tuple(tensor.shape), plan.parts[name])
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
    opened = _Folder(root, manifest)
    maker = Maker(opened, restore_location, sum(manifest.files.values()))
    with loading(root, f"its `{MANIFEST}` is damaged"):
        return Decoder(maker.read, maker.make).decode(manifest.structure)


class _Folder:
    """The files that a manifest names; each is opened when something in it is needed."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self.names = list(manifest.tensors)
        self._root = root
        self._manifest = manifest
        self._opened: dict[str, tensor_file.TensorFile] = {}
        for file in manifest.files:
            self._check(file)
        tensors = manifest.tensors.values()
        declared = sum(math.prod(each.shape) * each.dtype.itemsize for each in tensors)
        if declared > sum(manifest.files.values()):
            raise LoadError(
                f"cannot load `{root}`: its `{MANIFEST}` is damaged (its tensors have {declared} "
                "bytes, more than its files)"
            )

    def described(self, name: str) -> tuple[tuple[int, ...], np.dtype]:
        """Shape and dtype of a tensor."""
        entry = self._manifest.tensors[name]
        return entry.shape, np.dtype(entry.dtype.numpy)

    def read(self, name: str) -> np.ndarray:
        """All of a tensor."""
        return self.part(name, tuple([slice(0, n) for n in self._manifest.tensors[name].shape]))

    def part(self, name: str, slices: tuple[slice, ...]) -> np.ndarray:
        """A part of a tensor, from all files that have something of it."""
        entry = self._manifest.tensors[name]
        sizes = tuple([each.stop - each.start for each in slices])
        result = np.empty(sizes, entry.dtype.numpy)
        for part in entry.parts:
            common = _common(slices, part)
            if common is None:
                continue
            block = self._block(name, part, _shifted(common, part.offsets))
            if block.dtype != result.dtype:
                raise LoadError(self._disagrees(name, part))
            if block.shape == sizes:
                return block
            result[_shifted(common, [each.start for each in slices])] = block
        return result

    def _block(self, name: str, part: SavedShard, slices: tuple[slice, ...]) -> np.ndarray:
        opened = self._file(part.file)
        if name not in opened.names or opened.described(name)[0] != part.sizes:
            raise LoadError(self._disagrees(name, part))
        return opened.part(name, slices)

    def _disagrees(self, name: str, part: SavedShard) -> str:
        return (
            f"cannot load `{self._root}`: what `{part.file}` has of `{name}` is not what "
            f"`{MANIFEST}` says"
        )

    def _file(self, file: str) -> tensor_file.TensorFile:
        opened = self._opened.get(file)
        if opened is None:
            self._check(file)
            path = self._root / self._manifest.folder / file
            opened = self._opened[file] = tensor_file.open_path(path)
        return opened

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
        found = "is missing" if size is None else f"has {size} bytes"
        raise LoadError(
            f"cannot load `{root}`: `{manifest.folder}/{file}` {found}, and should have "
            f"{manifest.files[file]} bytes"
        )


def _common(slices: tuple[slice, ...], part: SavedShard) -> tuple[slice, ...] | None:
    """What slices of a tensor and one of its parts have in common, as slices of the tensor."""
    common = []
    for wanted, start, size in zip(slices, part.offsets, part.sizes, strict=True):
        first, last = max(wanted.start, start), min(wanted.stop, start + size)
        if first >= last:
            return None
        common.append(slice(first, last))
    return tuple(common)


def _shifted(slices: tuple[slice, ...], origin: Sequence[int]) -> tuple[slice, ...]:
    """Slices counted from `origin`."""
    return tuple([slice(e.start - at, e.stop - at) for e, at in zip(slices, origin, strict=True)])
