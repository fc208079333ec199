"""Results of exchanges that are not over, in the tensors that they are for."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow.control_plane.background_exchanges import BackgroundExchange, start_exchange
from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributed.device_group import ExchangedArray, on_host, operand_of
from oneflow.program.value import Value
from oneflow.runtime.memory import empty_aligned, wrap_array
from oneflow.tensor.host_memory import HostMemory
from oneflow.tensor.storage import MEMORY_LOCK, Storage
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.view_chain import overlapping
from oneflow.tensor.views import check_writable, marked_like, unwrap, write


class _ViewResults:
    """Results for views of one memory, of which a new one is made when they are there.

    Args:
        storage: the memory.
    """

    def __init__(self, storage: Storage) -> None:
        spec = storage.value.spec
        self._storage = storage
        self._memory = HostMemory(empty_aligned(spec.shape, spec.dtype.numpy))
        self._targets: list[Tensor] = []
        self._places: list[tuple[int, np.ndarray]] = []

    def add(self, index: int, target: Tensor) -> bool:
        """Add a result; return False if the view is not a part of memory, with each element once.

        Args:
            index: its number.
            target: the view.
        """
        chain = (*target._family.root_views(), *target._chain)
        place = None if any(map(overlapping, chain)) else self._memory.part(target.spec, chain)
        if place is None:
            return False
        with no_grad():
            check_writable(target, target._value)
        self._targets.append(target)
        self._places.append((index, place))
        return True

    def write(self, exchange: BackgroundExchange, ranks: tuple[int, ...]) -> Value:
        """Give the memory the value that it will have when the results are there; return it."""
        storage, whole, places = self._storage, self._memory.array, self._places
        base = storage.value
        device, operand = base.spec.device, operand_of(base)

        def copy() -> list[Any]:
            results = exchange.result()
            np.copyto(whole, on_host(operand))
            for index, place in places:
                np.copyto(place, np.asarray(results[index]))
            return [wrap_array(whole, device)]

        copy_exchange = start_exchange(ranks, copy)
        root = ExchangedArray(base.spec, copy_exchange, 0, _replaced(base)).value()
        storage.replace(marked_like(root, base), self._targets[0]._family.uncounted)
        for target in self._targets:
            target._family.writes[0] += 1
        return root


def write_when_over(
    targets: Sequence[Tensor], exchange: BackgroundExchange, ranks: tuple[int, ...]
) -> list[Value]:
    """Write what an exchange brings to tensors; who reads them waits for it.

    This itself waits only for results in memory of the host, in which NumPy sees them, and for
    those of views that are no part of memory.

    Args:
        targets: a tensor for each result, or none.
        exchange: brings the results.
        ranks: the group.

    Returns:
        The values that the tensors, or those of which they are views, have now.
    """
    values = []
    results_of_storages: dict[Storage, _ViewResults] = {}
    with MEMORY_LOCK:
        for index, target in enumerate(targets):
            if _is_added(results_of_storages, index, target):
                continue
            before = unwrap(target)
            value = ExchangedArray(before.spec, exchange, index, _replaced(before)).value()
            with no_grad():
                write(target, value)
            values.append(value)
        values += [parts.write(exchange, ranks) for parts in results_of_storages.values()]
    return values


def _is_added(results_of_storages: dict[Storage, _ViewResults], index: int, target: Tensor) -> bool:
    """Add a result to those of its memory; return False if its tensor is no part of one."""
    family = target._family
    if family is None or family.storage.host is not None:
        return False
    parts = results_of_storages.get(family.storage)
    if parts is None:
        if not (target._chain or family.root_chain):
            return False
        parts = _ViewResults(family.storage)
    if not parts.add(index, target):
        return False
    results_of_storages[family.storage] = parts
    return True


def _replaced(value: Value) -> Value:
    """The value that a tensor gets back after an error, for one that it has had."""
    recorder = value.recorder
    if isinstance(recorder, ExchangedArray) and recorder.exchange.is_over:
        # Otherwise each operation would hold what the ones before it have replaced.
        with contextlib.suppress(Exception):
            value.read()
    return value if value.node is None else value.alias()
