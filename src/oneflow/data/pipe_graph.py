"""Pipes behind a pipe: finding them, and giving them seeds and shares of the samples."""

from __future__ import annotations

import inspect
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from enum import IntEnum
from types import BuiltinFunctionType, FunctionType, ModuleType, NoneType
from typing import Any

import numpy as np

from oneflow.base import cluster
from oneflow.data.datapipes import IterDataPipe, MapDataPipe
from oneflow.data.randomness import numbers_from
from oneflow.dispatch.global_call import FIRST_SEED

PIPES = (IterDataPipe, MapDataPipe)
#: The pipes behind a pipe by its identity, each with those behind it.
PipeGraph = dict[int, tuple[Any, "PipeGraph"]]


class SHARDING_PRIORITIES(IntEnum):
    """Receivers of samples, in the order in which several divisions nest.

    Example:
        >>> from oneflow.data.pipe_graph import SHARDING_PRIORITIES
        >>> SHARDING_PRIORITIES.DISTRIBUTED < SHARDING_PRIORITIES.MULTIPROCESSING
        True
    """

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


_ATOMS = (int, float, complex, bool, str, bytes, NoneType)
_CODE = (type, ModuleType, FunctionType, BuiltinFunctionType)


def _sources(pipe: Any, only_pipes: bool) -> list[Any]:
    """Return the pipes that a pipe's state holds.

    Pickling it, as PyTorch does, would find them too, but refuse local classes and lambdas.

    Args:
        pipe: the pipe.
        only_pipes: look into collections alone, and not into other objects.
    """
    sources: dict[int, Any] = {}
    seen: set[int] = set()

    def visit(value: Any) -> None:
        if isinstance(value, PIPES):
            sources.setdefault(id(value), value)
            return
        if id(value) in seen or isinstance(value, _CODE):
            return
        seen.add(id(value))
        if isinstance(value, Mapping):
            parts: Any = (part for pair in value.items() for part in pair)
        elif isinstance(value, list | tuple | Set | deque):
            parts = value
        else:
            parts = () if only_pipes else getattr(value, "__dict__", {}).values()
        for part in parts:
            if type(part) not in _ATOMS:
                visit(part)

    visit(pipe.__getstate__())
    return list(sources.values())


def _graph(pipe: Any, only_pipes: bool, above: set[int]) -> PipeGraph:
    if not isinstance(pipe, PIPES):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(pipe)} is found")
    if id(pipe) in above:
        return {}
    above = {*above, id(pipe)}
    subgraph: PipeGraph = {}
    for source in _sources(pipe, only_pipes):
        subgraph.update(_graph(source, only_pipes, above))
    return {id(pipe): (pipe, subgraph)}


def traverse_dps(datapipe: Any) -> PipeGraph:
    """Return the pipes behind a pipe, in its attributes and in collections there.

    Args:
        datapipe: the last pipe.

    Returns:
        A dictionary from the identity of the pipe to the pipe and the same for those behind it.

    Raises:
        RuntimeError: it is no pipe.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.data.pipe_graph import traverse_dps
        >>> class Source(flow.utils.data.IterDataPipe):
        ...     def __init__(self, *sources):
        ...         self.sources = sources
        >>> ((pipe, behind),) = traverse_dps(Source(Source(), Source())).values()
        >>> len(behind)
        2
    """
    return _graph(datapipe, True, set())


def traverse(datapipe: Any, only_datapipe: bool | None = None) -> PipeGraph:
    """Return the pipes behind a pipe; replaced by `traverse_dps`.

    Args:
        datapipe: the last pipe.
        only_datapipe: look at attributes that are pipes or collections alone.
    """
    warnings.warn(
        "`traverse` function is deprecated. Please use `traverse_dps` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return _graph(datapipe, bool(only_datapipe), set())


def get_all_graph_pipes(graph: PipeGraph) -> list[Any]:
    """Return the pipes of a graph, each once, the last one first."""

    def pipes(graph: PipeGraph) -> Iterator[tuple[int, Any]]:
        for identity, (pipe, subgraph) in graph.items():
            yield identity, pipe
            yield from pipes(subgraph)

    return list(dict(pipes(graph)).values())


def _has_methods(pipe: Any, *names: str) -> bool:
    return all(inspect.ismethod(getattr(pipe, name, None)) for name in names)


def apply_sharding(
    datapipe: Any,
    num_of_instances: int,
    instance_id: int,
    sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
) -> Any:
    """Give the pipes with a method `apply_sharding` their share of the samples.

    Args:
        datapipe: the last pipe.
        num_of_instances: among how many the samples are divided.
        instance_id: the number of this one.
        sharding_group: what they are divided among.

    Returns:
        The pipe.

    Raises:
        RuntimeError: samples would be divided twice on their way.
    """

    def divide(graph: PipeGraph, before: Any) -> None:
        for pipe, subgraph in graph.values():
            if not _has_methods(pipe, "apply_sharding"):
                divide(subgraph, before)
                continue
            if before is not None:
                raise RuntimeError(
                    "Sharding twice on a single pipeline is likely unintended and will cause data "
                    f"loss. Sharding already applied to {before} while trying to apply to {pipe}"
                )
            takes_group = len(inspect.signature(pipe.apply_sharding).parameters) >= 3
            group = {"sharding_group": sharding_group} if takes_group else {}
            pipe.apply_sharding(num_of_instances, instance_id, **group)
            divide(subgraph, pipe)

    divide(traverse_dps(datapipe), None)
    return datapipe


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Switch the pipes that shuffle on or off; if there is none to switch on, add one.

    Args:
        datapipe: the last pipe.
        shuffle: whether they shuffle; None: as before.

    Returns:
        The last pipe.
    """
    if shuffle is None:
        return datapipe
    pipes = get_all_graph_pipes(traverse_dps(datapipe))
    shufflers = [pipe for pipe in pipes if _has_methods(pipe, "set_shuffle", "set_seed")]
    if shuffle and not shufflers:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at "
            "the end. Be aware that the default buffer size might not be sufficient for your task.",
            stacklevel=2,
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for shuffler in shufflers:
        shuffler.set_shuffle(shuffle)
    return datapipe


def seed_pipes(datapipe: Any, draw: Callable[[], int]) -> Any:
    """Give each pipe with a method `set_seed` a seed.

    Args:
        datapipe: the last pipe.
        draw: returns the next seed.

    Returns:
        The pipe.
    """
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if _has_methods(pipe, "set_seed"):
            pipe.set_seed(draw())
    return datapipe


@dataclass(frozen=True)
class PipeEpoch:
    """Seeds and shares that the pipes of a loader begin an epoch with, alike in all workers.

    Attributes:
        seeds: what the pipes' seeds are drawn from, the same in all processes of the job: they
            shuffle alike, and then each takes its share.
        rank: the number of this process in the job.
        processes: how many processes the job has.
    """

    seeds: tuple[int, int]
    rank: int
    processes: int

    @classmethod
    def of(cls, dataset: Any, seeds: tuple[int, int]) -> PipeEpoch | None:
        """Return that of a data set whose loader has drawn seeds; None if it is no pipe."""
        if not isinstance(dataset, PIPES):
            return None
        ranks = tuple(range(cluster.world_size()))
        if len(ranks) > 1:
            seeds = (FIRST_SEED.value(seeds[0], ranks), FIRST_SEED.value(seeds[1], ranks))
        return cls(seeds, cluster.rank(), len(ranks))

    def begin(self, datapipe: Any, worker: int = 0, workers: int = 1) -> None:
        """Give pipes their seeds, and their share of the samples in one of several workers."""
        numbers = numbers_from(self.seeds)
        if isinstance(datapipe, IterDataPipe):
            seed_pipes(datapipe, lambda: int(numbers.integers(2**63, dtype=np.uint64)))
        # Every process gets as many samples, but for one.
        apply_sharding(datapipe, self.processes * workers, worker * self.processes + self.rank)
