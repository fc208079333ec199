"""The iterators of `oneflow.data.loader`, also over objects that only look like a loader."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterator
from typing import Any

from oneflow.data.dataset import IterableDataset
from oneflow.data.loader import BatchesInThisProcess, BatchesInWorkers, DataLoader


class _DatasetKind:
    """The ways to read a data set: by position, or from its beginning to its end."""

    Map = 0
    Iterable = 1


class _Stream(IterableDataset):
    """A stream that a library calls so without its being an `IterableDataset`.

    Args:
        source: the stream, whose attributes this has too.
    """

    def __init__(self, source: Any) -> None:
        self._source = source

    def __iter__(self) -> Iterator[Any]:
        return iter(self._source)

    def __getattr__(self, name: str) -> Any:
        if name == "_source":  # in a copy that has no attributes yet
            raise AttributeError(name)
        return getattr(self._source, name)


def _loader_of(loader: Any) -> DataLoader:
    """Return a loader, or one with the options of an object that has a loader's attributes."""
    if isinstance(loader, DataLoader):
        return loader
    dataset = loader.dataset
    if loader._dataset_kind == _DatasetKind.Iterable and not isinstance(dataset, IterableDataset):
        dataset = _Stream(dataset)
    return DataLoader(
        dataset,
        batch_size=None,
        num_workers=loader.num_workers,
        collate_fn=loader.collate_fn,
        timeout=loader.timeout,
        worker_init_fn=loader.worker_init_fn,
        generator=loader.generator,
        prefetch_factor=loader.prefetch_factor,
        persistent_workers=loader.persistent_workers,
    )


class _IteratorClass(ABCMeta):
    """The base class of every loader's iterators."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.__mro__[1])


class _SingleProcessDataLoaderIter(BatchesInThisProcess, metaclass=_IteratorClass):
    """One epoch of a loader without workers.

    Args:
        loader: the loader, or an object with its attributes.
    """

    def __init__(self, loader: Any) -> None:
        super().__init__(_loader_of(loader))


class _MultiProcessingDataLoaderIter(BatchesInWorkers, metaclass=_IteratorClass):
    """One epoch of a loader with workers.

    Args:
        loader: the loader, or an object with its attributes.
    """

    def __init__(self, loader: Any) -> None:
        super().__init__(_loader_of(loader))


__all__ = ["_DatasetKind", "_MultiProcessingDataLoaderIter", "_SingleProcessDataLoaderIter"]
