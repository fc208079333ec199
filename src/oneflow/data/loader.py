"""`DataLoader`: batches of a data set, fetched here or by worker processes."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.context import BaseContext
from typing import Any, Generic, TypedDict, TypeVar, Unpack, overload

import numpy as np

from oneflow.base.keywords import KeywordSuggestion
from oneflow.data.collate import default_collate, default_convert, to_tensors
from oneflow.data.dataset import Dataset, IterableDataset
from oneflow.data.fetch import EndOfStream, Fetcher
from oneflow.data.fixed_attributes import FixedAttributes
from oneflow.data.loader_attributes import from_pytorch, in_pytorch
from oneflow.data.loader_options import check_workers, prepare_stream
from oneflow.data.pipe_graph import PipeEpoch
from oneflow.data.pool import WorkerPool, context_for
from oneflow.data.position import (
    Numbers,
    Position,
    generator_states,
    order_generators,
    require_state,
    set_states,
    states,
)
from oneflow.data.sampler import BatchSampler, RandomSampler, SequentialSampler
from oneflow.data.worker import Finished, Setup, Task, WorkerFailure
from oneflow.random.generator import Generator, draw
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array, wrap_numpy

T_co = TypeVar("T_co", covariant=True)
Batch = TypeVar("Batch")
_FIXED = "batch_size batch_sampler sampler drop_last dataset persistent_workers"
# The kinds of samples that `default_collate` stacks to one tensor.
Numeric = Tensor | np.ndarray | int | float


class _Options(TypedDict, total=False):
    """Options of `DataLoader` that say nothing about what a batch is."""

    sampler: Iterable | None
    batch_sampler: Iterable | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    worker_init_fn: Callable[[int], None] | None
    multiprocessing_context: str | BaseContext | None
    generator: Generator | None
    prefetch_factor: int | None
    persistent_workers: bool
    pin_memory_device: str
    in_order: bool


class DataLoader(FixedAttributes, KeywordSuggestion, Generic[T_co]):
    """Batches of a data set.

    Args:
        dataset: the data set.
        batch_size: samples per batch; None gives single samples.
        shuffle: take the samples in random order, another one in each epoch.
        sampler: gives the numbers of the samples, instead of `shuffle`.
        batch_sampler: gives lists of numbers, instead of all the options before.
        num_workers: worker processes that fetch batches ahead; 0 fetches in this process.
        collate_fn: makes a batch of a list of samples, default `default_collate`.
        pin_memory: accepted; XLA manages transfer memory itself.
        drop_last: leave out a last batch that is shorter.
        timeout: seconds to wait for a batch of a worker that has started; 0 waits forever.
        worker_init_fn: called with the worker's number in each worker process; seeding is then left
            to it.
        multiprocessing_context: ``"forkserver"`` (default where it exists), ``"spawn"``,
            ``"fork"``, which is possible until a tensor is made, or such a context.
        generator: where the order and the workers' seeds come from, default the default generator.
        prefetch_factor: batches that each worker fetches ahead.
        persistent_workers: keep the worker processes between epochs.
        pin_memory_device: accepted, as `pin_memory`.
        in_order: accepted: batches always come in the order of the sampler.

    Raises:
        ValueError: options that exclude each other, or a number out of range.

    The order of batches never depends on `num_workers`. `state_dict` and `load_state_dict` make it
    possible to stop in the middle of an epoch and go on later with the same batches.

    Example:
        >>> import oneflow as flow
        >>> data = flow.utils.data.TensorDataset(flow.arange(5))
        >>> loader = flow.utils.data.DataLoader(data, batch_size=2)
        >>> [batch.tolist() for (batch,) in loader]
        [[0, 1], [2, 3], [4]]
    """

    _fixed = frozenset(_FIXED.split())

    @overload
    def __init__(
        self: DataLoader[Tensor],
        dataset: Dataset[Numeric],
        batch_size: int | None = 1,
        shuffle: bool = False,
        *,
        collate_fn: None = None,
        **options: Unpack[_Options],
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[list[Tensor]],
        dataset: Dataset[tuple[Numeric, ...]],
        batch_size: int | None = 1,
        shuffle: bool = False,
        *,
        collate_fn: None = None,
        **options: Unpack[_Options],
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[Batch],
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool = False,
        *,
        collate_fn: Callable[[list[Any]], Batch],
        **options: Unpack[_Options],
    ) -> None: ...
    @overload
    def __init__(
        self: DataLoader[Any],
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool = False,
        *,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        **options: Unpack[_Options],
    ) -> None: ...
    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: str | BaseContext | None = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = 2,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        prefetch_factor = 2 if prefetch_factor is None else prefetch_factor
        check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers, self.prefetch_factor = num_workers, prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.in_order = in_order
        self.timeout, self.worker_init_fn = timeout, worker_init_fn
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.drop_last = drop_last
        if multiprocessing_context is not None and not num_workers:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading "
                f"(num_workers > 0), but got num_workers={num_workers}"
            )
        self.multiprocessing_context: Any = (
            context_for(multiprocessing_context) if num_workers else None
        )
        if isinstance(dataset, IterableDataset):
            self.dataset, shuffle = prepare_stream(dataset, shuffle, sampler, batch_sampler)
        self._choose_sampler(batch_size, bool(shuffle), sampler, batch_sampler)
        self.collate_fn = collate_fn or (
            default_collate if self._auto_collation else default_convert
        )
        self._pool: WorkerPool | None = None
        self._position: Position | None = None
        self._resume: Mapping[str, Any] | None = None
        self.__initialized = True

    def _choose_sampler(
        self, batch_size: int | None, shuffle: bool, sampler: Any, batch_sampler: Any
    ) -> None:
        """Set `sampler`, `batch_sampler` and `batch_size` from the options."""
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or self.drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and drop_last"
                )
            batch_size, self.drop_last = None, False
        elif batch_size is None and self.drop_last:
            raise ValueError("batch_size=None is mutually exclusive with drop_last")
        stream = isinstance(self.dataset, IterableDataset)
        if sampler is None and not stream:
            sampler = (
                RandomSampler(self.dataset, generator=self.generator)
                if shuffle
                else SequentialSampler(self.dataset)
            )
        if batch_size is not None and sampler is not None:
            batch_sampler = BatchSampler(sampler, batch_size, self.drop_last)
        self.batch_size = batch_size
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self._auto_collation = batch_sampler is not None or batch_size is not None

    def _state_in_pytorch(self) -> dict[str, Any]:
        """All attributes as PyTorch's class has them."""
        return in_pytorch(vars(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(from_pytorch(state))

    @property
    def _numbers(self) -> Any:
        """The indices of each batch; None repeated for a stream, which needs none."""
        if isinstance(self.dataset, IterableDataset):
            return itertools.repeat(None)
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._numbers)
        dataset: Any = self.dataset
        length = len(dataset)
        if self.batch_size is None:
            return length
        full, rest = divmod(length, self.batch_size)
        return full if self.drop_last or not rest else full + 1

    def __iter__(self) -> Iterator[T_co]:
        return self._get_iterator()

    def _get_iterator(self) -> Batches:
        """The batches of an epoch; subclasses with an `__iter__` of their own call this."""
        resume, self._resume = self._resume, None
        batches = (BatchesInWorkers if self.num_workers else BatchesInThisProcess)(self, resume)
        self._position = batches.position
        return batches

    def _fetcher(self) -> Fetcher:
        return Fetcher(
            self.dataset, self.collate_fn, self._auto_collation, self.batch_size, self.drop_last
        )

    def _workers(self) -> WorkerPool:
        """Worker processes for one epoch, or those kept from the last one."""
        if self._pool is not None and not self._pool.closed:
            return self._pool
        setup = Setup(self._fetcher(), self.worker_init_fn, self.num_workers)
        pool = WorkerPool(setup, self.multiprocessing_context, self.timeout)
        if self.persistent_workers:
            self._pool = pool
        return pool

    def state_dict(self) -> dict[str, Any]:
        """Return the position: how many batches were given out, and what began the order.

        Random numbers that the samples themselves draw in this process are not part of it: save the
        states of those generators too. Workers seed theirs anew for each batch.

        Example:
            >>> import oneflow as flow
            >>> def loader():
            ...     generator = flow.Generator().manual_seed(1)
            ...     return flow.utils.data.DataLoader(range(6), shuffle=True, generator=generator)
            >>> first, second = loader(), loader()
            >>> batches = iter(first)
            >>> done = [next(batches).item() for _ in range(2)]
            >>> second.load_state_dict(first.state_dict())
            >>> [batch.item() for batch in second] == [batch.item() for batch in batches]
            True
        """
        generators = generator_states(order_generators(self))
        if self._resume is not None:
            return {**self._resume, "generators": generators}
        position = self._position
        if position is None or position.exhausted:
            return {"begin": None, "batches": 0, "generators": generators}
        return {**position.state_dict(), "generators": generators}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Let the next iteration go on from a `state_dict`."""
        require_state(state_dict)
        for generator, state in zip(order_generators(self), state_dict["generators"], strict=True):
            if generator is not None and state is not None:
                generator.set_state(state)
        self._position = None
        self._resume = dict(state_dict) if state_dict["begin"] is not None else None


class Batches(Iterator):
    """One epoch of a loader; `position` outlives it, for `state_dict`."""

    def __init__(self, loader: DataLoader, resume: Mapping[str, Any] | None = None) -> None:
        # Before anything makes a tensor: workers may be copies of this process.
        pool = loader._workers() if loader.num_workers else None
        try:
            self._begin(loader, resume, pool)
        except BaseException:
            if pool is not None:
                pool.close()
            raise

    def _begin(
        self, loader: DataLoader, resume: Mapping[str, Any] | None, pool: WorkerPool | None
    ) -> None:
        generators = order_generators(loader)
        now = states(generators)
        self.position = Position(now if resume is None else resume["begin"])
        set_states(generators, self.position.begin)
        seeds = draw(generators[0])
        pipes = PipeEpoch.of(loader.dataset, seeds)
        numbers: Iterator = Numbers(iter(loader._numbers), generators, self.position)
        stream = isinstance(loader.dataset, IterableDataset)
        if resume is not None:
            if resume["taken"] and not stream:
                numbers = numbers.go_on(resume)
            # These numbers were drawn before: the generators keep their states.
            set_states(generators, now)
        self._source = (
            _InThisProcess(loader, numbers, pipes)
            if pool is None
            else _InWorkers(loader, pool, numbers, (seeds, pipes), self.position.num_batches)
        )
        if stream and resume is not None:
            for _ in range(resume["batches"]):
                next(self)

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Any:
        if self.position.exhausted:
            raise StopIteration
        try:
            batch = self._source.next()
            if not isinstance(batch, _Problem):
                batch = to_tensors(batch, self._source.make_tensor)
                self.position.num_batches += 1
                return batch
        except StopIteration:
            self.position.exhausted = True
            self._source.end()
            raise
        except BaseException:
            self._source.cancel()
            raise
        error = batch.exception()
        # The traceback of an exception keeps the variables of this call. Without these the workers
        # end when the loop is left, and not when the exception is forgotten.
        del self, batch
        try:
            raise error
        finally:
            del error


class _InThisProcess:
    """Fetches each batch in this process, on demand."""

    make_tensor = staticmethod(import_array)

    def __init__(self, loader: DataLoader, numbers: Iterator, pipes: PipeEpoch | None) -> None:
        self._numbers = numbers
        self._fetcher = loader._fetcher()
        if pipes is not None:
            pipes.begin(loader.dataset)
        self._fetcher.start()

    def next(self) -> Any:
        numbers = next(self._numbers)
        try:
            return self._fetcher.fetch(numbers)
        except EndOfStream:
            raise StopIteration from None

    def end(self) -> None:
        """There is nothing to end."""

    def cancel(self) -> None:
        """There is nothing to end; the next sample may be better."""


@dataclass(frozen=True)
class _Problem:
    """A batch that a worker failed to fetch."""

    worker: int
    failure: WorkerFailure

    def exception(self) -> Exception:
        return self.failure.exception(f"DataLoader worker process {self.worker}")


class _InWorkers:
    """Keeps worker processes busy and takes their batches in order: they take turns.

    A stream ends in one worker earlier than in another: the rest then take turns.
    """

    # The memory of a received batch belongs to this process alone.
    make_tensor = staticmethod(wrap_numpy)

    def __init__(
        self,
        loader: DataLoader,
        pool: WorkerPool,
        numbers: Iterator,
        begin: tuple[tuple[int, int], PipeEpoch | None],
        first: int,
    ) -> None:
        self._numbers = numbers
        self._persistent = loader.persistent_workers
        self._pool = pool
        workers = loader.num_workers
        self._turns = deque((first + offset) % workers for offset in range(workers))
        self._waiting: deque[int] = deque()
        self._next_batch = first
        self._epoch = self._pool.begin(*begin)
        try:
            for _ in range(workers * loader.prefetch_factor):
                self._order()
        except BaseException:
            self.cancel()
            raise

    def _order(self) -> None:
        """Ask the worker whose turn it is for one more batch."""
        if not self._turns:
            return
        numbers = next(self._numbers, self)
        if numbers is self:
            return
        number = self._turns[0]
        self._turns.rotate(-1)
        self._pool.send(number, Task(self._next_batch, numbers))
        self._waiting.append(number)
        self._next_batch += 1

    def next(self) -> Any:
        if self._pool.epoch != self._epoch:
            raise RuntimeError("this iterator's workers have gone on to another epoch")
        while self._waiting:
            number = self._waiting.popleft()
            answer = self._pool.answer(number)
            if isinstance(answer, Finished):
                if number in self._turns:
                    self._turns.remove(number)
                continue
            self._order()
            return _Problem(number, answer) if isinstance(answer, WorkerFailure) else answer
        raise StopIteration

    def end(self) -> None:
        """End the workers after the last batch, unless they are to stay."""
        if not self._persistent:
            self._pool.close()

    def cancel(self) -> None:
        """End the workers at once: the epoch cannot go on, and what they send may be half read."""
        self._waiting.clear()
        self._turns.clear()
        if self._pool.epoch == self._epoch:
            self._pool.close()


class BatchesInThisProcess(Batches):
    """One epoch of a loader without workers."""


class BatchesInWorkers(Batches):
    """One epoch of a loader with workers."""
