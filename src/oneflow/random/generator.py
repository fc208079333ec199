"""`Generator`: where random numbers start, and how many draws were made since."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from oneflow.base import cluster
from oneflow.base.device import CPU, Device
from oneflow.base.placement import parse_device
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array

_FIRST_SEED = 67280421310721
_STATE_BYTES = 16
# Marked numbers: in no range that seeds and stream numbers of programs come from by chance.
_MARKED_SEEDS = 0x5B17_0C4E_9D36_A000
_MARKED_STREAMS = 0x2E93_D750_0000_0000
_MARKED_STEP = 2**36


@dataclass
class _Position:
    """The whole state of a generator."""

    seed: int
    stream: int


class DrawMarks:
    """Numbers that stand for the seeds and streams of draws while a program is being recorded.

    They tell which run-time numbers of the program have to be filled in before each run. The
    generators themselves stay where they are.
    """

    def __init__(self) -> None:
        self._positions: dict[Generator, _Position] = {}

    def position_of(self, generator: Generator) -> _Position:
        """The position of the marked numbers of `generator`."""
        position = self._positions.get(generator)
        if position is None:
            index = len(self._positions)
            position = self._positions[generator] = _Position(
                _MARKED_SEEDS + index, _MARKED_STREAMS + index * _MARKED_STEP
            )
        return position

    def drawn(self) -> list[tuple[Generator, int | None, tuple[int, int]]]:
        """Each generator with the number of its draws, and its position at the end.

        The number is None if the generator was started again from a seed.
        """
        found = []
        for index, (generator, position) in enumerate(self._positions.items()):
            count = position.stream - _MARKED_STREAMS - index * _MARKED_STEP
            relative = position.seed == _MARKED_SEEDS + index
            found.append((generator, count if relative else None, (position.seed, position.stream)))
        return found

    def find(self, numbers: Sequence[Any]) -> list[tuple[int, int, int | None]]:
        """The marked ones of `numbers`: ``(position, index of the generator, draw)``.

        The draw counts from 0; None stands for the seed.
        """
        found: list[tuple[int, int, int | None]] = []
        count = len(self._positions)
        for position, number in enumerate(numbers):
            if type(number) is not int:
                continue
            if 0 <= number - _MARKED_SEEDS < count:
                found.append((position, number - _MARKED_SEEDS, None))
            elif 0 <= number - _MARKED_STREAMS < count * _MARKED_STEP:
                found.append((position, *divmod(number - _MARKED_STREAMS, _MARKED_STEP)))
        return found


class _Drawing(threading.local):
    """The source of this thread's draws, if not the generators' own positions.

    Attributes:
        marks: marked numbers.
        replays: positions of generators from which draws are made again.
    """

    marks: DrawMarks | None = None
    replays: Mapping[Generator, _Position] = MappingProxyType({})


_DRAWING = _Drawing()


@contextlib.contextmanager
def marking_draws() -> Iterator[DrawMarks]:
    """Context manager: every generator hands this thread marked numbers."""
    before, _DRAWING.marks = _DRAWING.marks, DrawMarks()
    try:
        yield _DRAWING.marks
    finally:
        _DRAWING.marks = before


@contextlib.contextmanager
def replaying_draws(generator: Generator, position: tuple[int, int] | None) -> Iterator[None]:
    """Context manager: this thread draws from `generator` as it was at `position`.

    The generator itself stays where it is, for this thread afterwards and for others meanwhile.

    Args:
        generator: the generator.
        position: seed and stream that it had; None draws as usual.
    """
    before = _DRAWING.replays
    if position is not None:
        _DRAWING.replays = {**before, generator: _Position(*position)}
    try:
        yield
    finally:
        _DRAWING.replays = before


class Generator:
    """A source of random numbers: a seed and the number of the next stream.

    Every random call takes one stream number, and its elements are a function of
    ``(seed, stream, index)`` alone: the numbers do not depend on the device, and the whole state is
    two integers.

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
        self._device = CPU if device in (None, "auto") else parse_device(device)
        self._lock = threading.RLock()
        self._own = _Position(_FIRST_SEED, 0)

    @property
    def device(self) -> Device:
        """The device it was made for."""
        return self._device

    def __repr__(self) -> str:
        return f"<oneflow.Generator seed={self._own.seed} draws={self._own.stream}>"

    def __reduce__(self) -> tuple:
        return _generator_at, (self._device, self.position)

    def next_stream(self) -> tuple[int, int]:
        """The seed and a stream number that no draw has used yet."""
        current = self._current()
        with self._lock:
            stream = current.stream
            current.stream = stream + 1
            return current.seed, stream

    def _current(self) -> _Position:
        """Its position, or the replayed or marked one that stands for it on this thread now."""
        replay = _DRAWING.replays.get(self)
        if replay is not None:
            return replay
        marks = _DRAWING.marks
        return self._own if marks is None else marks.position_of(self)

    @property
    def position(self) -> tuple[int, int]:
        """The seed and the number of the next stream: the whole state."""
        current = self._current()
        with self._lock:
            return current.seed, current.stream

    @position.setter
    def position(self, position: tuple[int, int]) -> None:
        current = self._current()
        with self._lock:
            current.seed, current.stream = position

    def manual_seed(self, seed: int) -> Generator:
        """Start again from `seed`, an integer; negative ones count from 2**64 down.

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
        return self._own.seed

    def get_state(self) -> Tensor:
        """Seed and next stream number as a uint8 tensor of 16 elements."""
        return import_array(np.array(self.position, "<u8").view(np.uint8))

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
if (_shared := cluster.shared_seed()) is None:
    default_generator.seed()
else:
    # What is broadcast in a global tensor must be the same on all ranks.
    default_generator.manual_seed(_shared)


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
