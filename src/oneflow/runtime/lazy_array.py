"""Values whose numbers stay in files, or in the host's memory, until somebody needs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import ref

import jax
import numpy as np

from oneflow.base.device import CPU
from oneflow.base.spec import TensorSpec
from oneflow.base.x64 import x64
from oneflow.primitives.shard_shapes import Sizes
from oneflow.program.value import Value
from oneflow.runtime.memory import put
from oneflow.runtime.shards import make_global_array, shard_of

Slices = tuple[slice, ...]


class LazySource(Protocol):
    """The numbers of one tensor in files."""

    def __getitem__(self, slices: Slices) -> np.ndarray:
        """The numbers in slices of the whole, one per dimension; only these are read."""
        ...


class DeferredArray:
    """The placeholder of an array in values, which provides it later.

    Args:
        spec: the spec of the values.
    """

    __slots__ = ("_spec", "_values")

    symbolic = False

    def __init__(self, spec: TensorSpec) -> None:
        self._spec = spec
        # They leave it when they die: a state of a loop may have a new handle in each turn.
        self._values: set[ref[Value]] = set()

    def value(self) -> Value:
        """A value whose array is read on first use."""
        value = Value(self._spec, None, self, 0)
        self.add_alias(value)
        return value

    def add_alias(self, value: Value) -> None:
        """Register another value with the same numbers."""
        self._values.add(ref(value, self._values.discard))

    def note_replacement(
        self, new: Value, old: Value, invalidate: Callable[[], None] | None = None
    ) -> None:
        """Forget what a tensor held before: files that cannot be read now may be read later."""

    def note_gradient(self, restore: Callable[[], None]) -> None:
        """Do nothing: arrays without a program have no checks."""

    def flush(self, reason: str) -> None:
        """Bring the numbers to where the values are.

        Raises:
            RuntimeError: the devices on which the tensor was saved do not exist here.
        """
        self.put()

    def put(self) -> Any:
        """Give the values their array and return it."""
        array = self.array()
        self.give(array)
        return array

    def give(self, array: Any) -> None:
        """Give the values an array."""
        # All stay registered: another thread may add one at any time, which is put when it is read.
        for reference in (*self._values,):
            value = reference()
            if value is not None and value.recorder is self:
                value.array = array
                value.recorder = None

    def array(self) -> Any:
        """The array of the values."""
        raise NotImplementedError


class OffloadedArray(DeferredArray):
    """An array of a device whose numbers wait in the host's memory.

    Args:
        spec: the spec of the values.
        array: what they held; only this process's part is kept.
    """

    __slots__ = ("_blocks", "_shape", "_sharding")

    def __init__(self, spec: TensorSpec, array: jax.Array) -> None:
        super().__init__(spec)
        self._shape, self._sharding = array.shape, array.sharding
        self._blocks = [(np.array(block.data), block.device) for block in array.addressable_shards]

    def array(self) -> Any:
        """The array on its devices again."""
        with x64():
            blocks = [jax.device_put(numbers, device) for numbers, device in self._blocks]
            return jax.make_array_from_single_device_arrays(self._shape, self._sharding, blocks)


class LazyArray(DeferredArray):
    """The placeholder of an array that is read from files.

    Args:
        spec: the spec of the values.
        source: the numbers.
    """

    __slots__ = ("_source",)

    def __init__(self, spec: TensorSpec, source: LazySource) -> None:
        super().__init__(spec)
        self._source = source

    def array(self) -> Any:
        """The numbers where the values are."""
        return self.array_on(self._spec)

    def array_on(self, spec: TensorSpec) -> Any:
        """The numbers as the array of a tensor with this spec.

        Raises:
            RuntimeError: there are no such devices here.
        """
        if spec.sbp is None:
            return put(self._source[tuple(map(slice, (0,) * spec.ndim, spec.shape))], spec.device)
        _require_devices(spec.device)
        full: Any = _Once(self._source)
        return make_global_array(spec, lambda coordinate: shard_of(full, spec, coordinate))


class HostArray(LazyArray):
    """Numbers in the host's memory, which are read there; programs put them on the device.

    Args:
        spec: the spec of the values.
        numbers: a NumPy array or scalar that nobody writes to.
    """

    __slots__ = ("numbers",)

    def __init__(self, spec: TensorSpec, numbers: Any) -> None:
        # As in the base classes, without a call of each: reading an element makes one.
        self._spec, self._values, self._source, self.numbers = spec, set(), numbers, numbers


@dataclass(slots=True)
class HostSettings:
    """A setting of the place where arrays from outside are kept.

    Attributes:
        keeps_arrays: on the host, until a program needs them. So they are in processes that mostly
            pass them on, as those of a data loader: XLA takes longer than to copy them.
    """

    keeps_arrays: bool = False


HOST = HostSettings()


def copy_to_device(array: np.ndarray, spec: TensorSpec) -> Value:
    """A value with a copy of a NumPy array, on the device of its spec."""
    if HOST.keeps_arrays and spec.device is CPU:
        return HostArray(spec, array.copy()).value()
    return Value(spec, put(array, spec.device))


class _Once:
    """A source that is read once for devices which hold the same."""

    def __init__(self, source: LazySource) -> None:
        self._source = source
        self._blocks_by_slices: dict[tuple[Sizes, ...], np.ndarray] = {}

    def __getitem__(self, slices: Slices) -> np.ndarray:
        key = tuple([(dim_slice.start, dim_slice.stop) for dim_slice in slices])
        if key not in self._blocks_by_slices:
            self._blocks_by_slices[key] = self._source[slices]
        return self._blocks_by_slices[key]


def _require_devices(placement: Any) -> None:
    try:
        placement.require_devices()
    except RuntimeError as error:
        raise RuntimeError(
            f"a loaded tensor is placed on {placement}, which does not exist here: {error}. Load "
            "it into a tensor with `load_state_dict`, which keeps that one's placement, or give "
            "`map_location` to `oneflow.load`: a placement, or a device for whole tensors"
        ) from None


def lazy_array_of(value: Value) -> LazyArray | None:
    """The unread array of a value; None for a value that has been read or was computed."""
    recorder = value.recorder
    return recorder if value.array is None and isinstance(recorder, LazyArray) else None
