"""The attributes of `DataLoader` as PyTorch's class has them, which its files hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from oneflow.data.dataset import IterableDataset
from oneflow.data.sampler import BatchSampler, Sampler

_SAME = (
    *("dataset", "num_workers", "pin_memory", "pin_memory_device", "timeout", "worker_init_fn"),
    *("in_order", "batch_size", "drop_last", "sampler", "batch_sampler", "generator"),
    *("collate_fn", "persistent_workers"),
)
_CONTEXT = "_DataLoader__multiprocessing_context"
_KIND = "_dataset_kind"


class InfiniteConstantSampler(Sampler[Any]):
    """Sampler that PyTorch's loader of a stream has: None, again and again."""

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield None


def in_pytorch(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a loader's attributes under PyTorch's names, without an epoch that has begun."""
    state = {name: attributes[name] for name in _SAME}
    is_stream = isinstance(state["dataset"], IterableDataset)
    if is_stream:
        sampler, size = InfiniteConstantSampler(), state["batch_size"]
        batches = None if size is None else BatchSampler(sampler, size, state["drop_last"])
        state.update(sampler=sampler, batch_sampler=batches)
    return {
        **state,
        "prefetch_factor": attributes["prefetch_factor"] if state["num_workers"] else None,
        _CONTEXT: attributes["multiprocessing_context"],
        _KIND: int(is_stream),
        "_IterableDataset_len_called": None,
        "_iterator": None,
        "_DataLoader__initialized": True,
        "_resume": attributes["_resume"],
    }


def from_pytorch(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes as they are here.

    Args:
        state: attributes under PyTorch's names, or under those of this package.
    """
    if _KIND not in state:
        return dict(state)
    attributes = {name: state[name] for name in _SAME}
    if state[_KIND]:
        attributes.update(sampler=None, batch_sampler=None)
    is_batched = attributes["batch_sampler"] is not None or attributes["batch_size"] is not None
    return {
        **attributes,
        "prefetch_factor": state["prefetch_factor"] or 2,
        "multiprocessing_context": state[_CONTEXT],
        "_auto_collation": is_batched,
        "_pool": None,
        "_position": None,
        "_resume": state.get("_resume"),
        "_DataLoader__initialized": True,
    }
