"""Names of ``torch.distributed.checkpoint.state_dict_loader``: loading a checkpoint."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

from oneflow import distributed
from oneflow.checkpoint import serialization
from oneflow.mock_torch.pytorch.distributed.checkpoint.api import CheckpointException
from oneflow.mock_torch.pytorch.distributed.checkpoint.default_planner import DefaultLoadPlanner
from oneflow.mock_torch.pytorch.distributed.checkpoint.filesystem import FileSystemReader, folder_of
from oneflow.mock_torch.pytorch.distributed.checkpoint.stateful import Stateful
from oneflow.module.state import copy_into
from oneflow.tensor.tensor import Tensor


def load(
    state_dict: MutableMapping[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: FileSystemReader | None = None,
    planner: DefaultLoadPlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Load what a state dict asks for from a folder, into its tensors; processes do it together.

    Tensors keep their dtype, device and sharding, and each process reads of a global one only what
    it holds. Objects that are no tensors are replaced, and a `Stateful` loads its state. Other keys
    of the checkpoint are left out.

    All keys and shapes are checked before anything is written.

    Args:
        state_dict: tensors and plain data by key, nested at will.
        checkpoint_id: the folder.
        storage_reader: has the folder, if `checkpoint_id` is not given.
        planner: says whether keys may be missing.
        process_group: accepted; all processes take part.
        no_dist: accepted.

    Raises:
        CheckpointException: the checkpoint lacks a key, or has a tensor of another shape.

    Example:
        >>> import tempfile
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable(), tempfile.TemporaryDirectory() as folder:
        ...     import torch
        ...     from torch.distributed import checkpoint
        ...     model = torch.nn.Linear(2, 1)
        ...     checkpoint.save({"model": model, "step": 3}, checkpoint_id=folder)
        ...     state = {"model": torch.nn.Linear(2, 1), "step": 0}
        ...     checkpoint.load(state, checkpoint_id=folder)
        ...     state["step"], bool((state["model"].weight == model.weight).all())
        (3, True)
    """
    folder = folder_of(checkpoint_id, storage_reader, "storage_reader", FileSystemReader)
    partial = planner is not None and planner.allow_partial_load
    targets = {k: v.state_dict() if isinstance(v, Stateful) else v for k, v in state_dict.items()}
    try:
        writes = _Writes(partial)
        writes.add_mapping(targets, serialization.load(folder), "")
        writes.run()
    except (RuntimeError, OSError) as error:
        raise CheckpointException("load", {distributed.get_rank(): error}) from error
    for key, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(targets[key])
        else:
            state_dict[key] = targets[key]


@dataclass
class _Writes:
    """The writes of a load, checked as they are added.

    Attributes:
        partial: whether keys may be missing.
        copies: tensors, and those whose values they get.
        members: mappings, keys and the values that they get.
    """

    partial: bool
    copies: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    members: list[tuple[MutableMapping[Any, Any], Any, Any]] = field(default_factory=list)

    def add_mapping(self, targets: MutableMapping[Any, Any], saved: Any, path: str) -> None:
        """Add the values of a mapping."""
        for key, target in targets.items():
            name = f"{path}{key}"
            if hasattr(saved, "keys") and key in saved:
                self.members.append((targets, key, self._value(target, saved[key], name)))
            elif not self.partial:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")

    def _value(self, target: Any, saved: Any, name: str) -> Any:
        """Return the value in the place of `target`: it itself if it is a tensor or a mapping."""
        if isinstance(target, MutableMapping):
            self.add_mapping(target, saved, f"{name}.")
            return target
        if isinstance(target, list) and isinstance(saved, list) and len(target) == len(saved):
            return [
                self._value(item, other, f"{name}.{index}")
                for index, (item, other) in enumerate(zip(target, saved, strict=True))
            ]
        if not isinstance(target, Tensor) or not isinstance(saved, Tensor):
            return saved
        if target.shape != saved.shape:
            raise RuntimeError(
                f"Size mismatch between saved {tuple(saved.shape)} and current: "
                f"{tuple(target.shape)} for {name}"
            )
        self.copies.append((target, saved))
        return target

    def run(self) -> None:
        """Write all values."""
        for target, saved in self.copies:
            copy_into(target, saved)
        for mapping, key, value in self.members:
            mapping[key] = value


def load_state_dict(
    state_dict: MutableMapping[str, Any],
    storage_reader: FileSystemReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: DefaultLoadPlanner | None = None,
) -> None:
    """Load what a state dict asks for, as `load` does, from the folder of a reader."""
    load(state_dict, storage_reader=storage_reader, planner=planner)


__all__ = ["load", "load_state_dict"]
