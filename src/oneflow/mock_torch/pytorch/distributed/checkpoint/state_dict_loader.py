"""Names of ``torch.distributed.checkpoint.state_dict_loader``: loading a checkpoint."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
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
    it holds. What is no tensor is replaced, and what is `Stateful` loads its state. Other keys of
    the checkpoint are left out.

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
        _load_mapping(targets, serialization.load(folder), "", partial)
    except (RuntimeError, OSError) as error:
        raise CheckpointException("load", {distributed.get_rank(): error}) from error
    for key, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(targets[key])
        else:
            state_dict[key] = targets[key]


def _load_mapping(targets: MutableMapping[Any, Any], found: Any, path: str, partial: bool) -> None:
    for key, target in targets.items():
        name = f"{path}{key}"
        if not hasattr(found, "keys") or key not in found:
            if partial:
                continue
            raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
        targets[key] = _loaded(target, found[key], name, partial)


def _loaded(target: Any, found: Any, name: str, partial: bool) -> Any:
    """Return the value in the place of `target`: it itself if it is a tensor or a mapping."""
    if isinstance(target, MutableMapping):
        _load_mapping(target, found, f"{name}.", partial)
        return target
    if isinstance(target, list) and isinstance(found, list) and len(target) == len(found):
        return [
            _loaded(item, other, f"{name}.{index}", partial)
            for index, (item, other) in enumerate(zip(target, found, strict=True))
        ]
    if not isinstance(target, Tensor) or not isinstance(found, Tensor):
        return found
    if target.shape != found.shape:
        raise RuntimeError(
            f"Size mismatch between saved {tuple(found.shape)} and current: {tuple(target.shape)} "
            f"for {name}"
        )
    copy_into(target, found)
    return target


def load_state_dict(
    state_dict: MutableMapping[str, Any],
    storage_reader: FileSystemReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: DefaultLoadPlanner | None = None,
) -> None:
    """Load what a state dict asks for, as `load` does; its former name."""
    load(state_dict, storage_reader=storage_reader, planner=planner)


__all__ = ["load", "load_state_dict"]
