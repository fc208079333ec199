"""`Generator`: where random numbers start, and how many draws were made since."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from oneflow.base.device import CPU, Device
from oneflow.functional.options import chosen_device
from oneflow.tensor.tensor import Tensor

_FIRST_SEED = 67280421310721
_STATE_BYTES = 16


class Generator:
    """A source of random numbers: a seed and the number of the next stream.

    Every random call takes one stream number, and its elements are a function of
    ``(seed, stream, index)`` alone: the numbers do not depend on the device, and the whole state is
    two whole numbers.

    Args:
        device: the device users say it is for; the numbers are the same everywhere.

    Example:
        >>> import oneflow as flow
        >>> generator = flow.Generator().manual_seed(7)
        >>> first = flow.rand(3, generator=generator)
        >>> bool((first == flow.rand(3, generator=generator.manual_seed(7))).all())
        True
    """

    def __init__(self, device: Device | str | None = None) -> None:
        self._device = CPU if device in (None, "auto") else chosen_device(device)
        self._lock = threading.Lock()
        self._seed, self._stream = _FIRST_SEED, 0

    @property
    def device(self) -> Device:
        """The device it was made for."""
        return self._device

    def __repr__(self) -> str:
        return f"<oneflow.Generator seed={self._seed} draws={self._stream}>"

    def __reduce__(self) -> tuple:
        return _generator_at, (self._device, self.position)

    def next_stream(self) -> tuple[int, int]:
        """The seed and a stream number that no draw has used yet."""
        with self._lock:
            stream = self._stream
            self._stream = stream + 1
        return self._seed, stream

    @property
    def position(self) -> tuple[int, int]:
        """The seed and the number of the next stream: the whole state."""
        with self._lock:
            return self._seed, self._stream

    @position.setter
    def position(self, position: tuple[int, int]) -> None:
        with self._lock:
            self._seed, self._stream = position

    def manual_seed(self, seed: int) -> Generator:
        """Start again from `seed`, a whole number; negative ones count from 2**64 down.

        Raises:
            RuntimeError: it does not fit into 64 bits.
        """
        number = int(seed)
        if not -(2**63) <= number < 2**64:
            raise RuntimeError(f"Overflow when unpacking long long: `seed` {number} needs 64 bits")
        self.position = number % 2**64, 0
        return self

    def seed(self) -> int:
        """Start again from a seed taken from the operating system; returns it."""
        return self.manual_seed(secrets.randbits(64)).initial_seed()

    def initial_seed(self) -> int:
        """The seed it was last started from."""
        return self._seed

    def get_state(self) -> Tensor:
        """Seed and next stream number as a uint8 tensor of 16 elements."""
        return Tensor._import(np.array(self.position, "<u8").view(np.uint8))

    def set_state(self, state: Tensor) -> None:
        """Go on from a state that `get_state` returned.

        Raises:
            TypeError: it is not a uint8 tensor.
            RuntimeError: it has another size.
        """
        if not isinstance(state, Tensor) or state.dtype.name != "uint8":
            given = state.dtype if isinstance(state, Tensor) else type(state).__name__
            raise TypeError(f"expected `state` to be a oneflow.uint8 tensor, got {given}")
        if state.numel() != _STATE_BYTES:
            raise RuntimeError(
                f"`state` has {state.numel()} elements, a generator's state has {_STATE_BYTES}"
            )
        numbers = state.numpy().reshape(-1).view("<u8")
        self.position = int(numbers[0]), int(numbers[1])

    def clone_state(self) -> Generator:
        """Another generator that goes on from the same state."""
        return _generator_at(self._device, self.position)


def _generator_at(device: Device, position: tuple[int, int]) -> Generator:
    """A generator with a given state; how generators are copied and pickled."""
    generator = Generator(device)
    generator.position = position
    return generator


default_generator = Generator()
default_generator.seed()


def draw(generator: Generator | None) -> tuple[int, int]:
    """Seed and stream of the next draw from `generator`, or from the default one.

    Raises:
        TypeError: it is not a generator.
    """
    if generator is None:
        return default_generator.next_stream()
    if not isinstance(generator, Generator):
        raise TypeError(f"`generator` must be a Generator, got {type(generator).__name__}")
    return generator.next_stream()


def manual_seed(seed: int) -> Generator:
    """Start the default generator again from `seed`.

    Example:
        >>> import oneflow as flow
        >>> flow.manual_seed(3).initial_seed()
        3
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start the default generator again from a random seed; returns the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """State of the default generator as a uint8 tensor."""
    return default_generator.get_state()


def set_rng_state(state: Tensor) -> None:
    """Put the default generator into a state that `get_rng_state` returned."""
    default_generator.set_state(state)


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None, enabled: bool = True, **names: Any
) -> Iterator[None]:
    """Context manager: random draws inside leave the default generator as it was.

    Args:
        devices: accepted for PyTorch's sake; one generator serves all devices.
        enabled: False makes it do nothing.
        names: PyTorch's further arguments, without effect.

    Example:
        >>> import oneflow as flow
        >>> before = flow.get_rng_state()
        >>> with flow.random.fork_rng():
        ...     _ = flow.rand(2)
        >>> bool((flow.get_rng_state() == before).all())
        True
    """
    before = default_generator.position
    try:
        yield
    finally:
        if enabled:
            default_generator.position = before
