"""Names of ``torch.distributed.checkpoint.state_dict_saver``: saving a checkpoint."""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from oneflow import distributed
from oneflow.checkpoint import serialization
from oneflow.checkpoint.manifest import named_folder
from oneflow.mock_torch.pytorch.distributed.checkpoint.default_planner import DefaultSavePlanner
from oneflow.mock_torch.pytorch.distributed.checkpoint.filesystem import FileSystemWriter, folder_of
from oneflow.mock_torch.pytorch.distributed.checkpoint.stateful import Stateful
from oneflow.mock_torch.pytorch.utils._pytree import tree_leaves
from oneflow.tensor.tensor import Tensor


def save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: FileSystemWriter | None = None,
    planner: DefaultSavePlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> None:
    """Save a state dict to a folder; all processes call this together.

    Each process writes its own parts of global tensors; process 0 writes its local values.

    Args:
        state_dict: tensors and plain data by key, nested at will; of what is `Stateful` the state.
        checkpoint_id: the folder.
        storage_writer: has the folder, if `checkpoint_id` is not given.
        planner: accepted.
        process_group: accepted; all processes take part.
        no_dist: this process saves alone, whatever others do.
        use_collectives: accepted.

    Example:
        >>> import tempfile
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable(), tempfile.TemporaryDirectory() as folder:
        ...     import torch
        ...     from torch.distributed import checkpoint
        ...     checkpoint.save({"weight": torch.ones(2)}, checkpoint_id=folder)
        ...     state = {"weight": torch.zeros(2)}
        ...     checkpoint.load(state, checkpoint_id=folder)
        ...     state["weight"].tolist()
        [1.0, 1.0]
    """
    folder = folder_of(checkpoint_id, storage_writer, "storage_writer", FileSystemWriter)
    _check_overwrite(folder, storage_writer)
    state = {key: _state_of(value) for key, value in state_dict.items()}
    is_shared = any(isinstance(leaf, Tensor) and leaf.is_global for leaf in tree_leaves(state))
    is_single = no_dist or distributed.get_world_size() == 1
    if is_shared or is_single or distributed.get_rank() == 0:
        folder.mkdir(parents=True, exist_ok=True)
        serialization.save(state, folder)
    if not (is_shared or is_single):
        distributed.barrier()


def _check_overwrite(folder: Path, writer: FileSystemWriter | None) -> None:
    if writer is not None and not writer.overwrite and named_folder(folder):
        raise RuntimeError(f"`overwrite` is False and there is a checkpoint in `{folder}`")


def _state_of(value: Any) -> Any:
    return value.state_dict() if isinstance(value, Stateful) else value


def save_state_dict(
    state_dict: Mapping[str, Any],
    storage_writer: FileSystemWriter,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: DefaultSavePlanner | None = None,
) -> None:
    """Save a state dict to a folder, as `save` does, with the folder of a writer."""
    save(state_dict, storage_writer=storage_writer, planner=planner, no_dist=no_dist)


class AsyncCheckpointerType(enum.Enum):
    """The worker that writes a checkpoint meanwhile; here neither does."""

    THREAD = "thread"
    PROCESS = "process"


def async_save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: FileSystemWriter | None = None,
    planner: DefaultSavePlanner | None = None,
    process_group: Any = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    no_dist: bool = False,
    **options: Any,
) -> Future[None]:
    """Save a state dict to a folder, and return a future that is done.

    Writing meanwhile would have collectives of two threads meet in any order.

    Args:
        state_dict: the same as in `save`.
        checkpoint_id: the same as in `save`.
        storage_writer: the same as in `save`.
        planner: accepted.
        process_group: accepted.
        async_checkpointer_type: accepted.
        no_dist: the same as in `save`.
        **options: accepted.
    """
    save(
        state_dict,
        checkpoint_id=checkpoint_id,
        storage_writer=storage_writer,
        no_dist=no_dist,
    )
    future: Future[None] = Future()
    future.set_result(None)
    return future


__all__ = ["AsyncCheckpointerType", "async_save", "save", "save_state_dict"]
