"""`Generator`: where random numbers start, and how many draws were made since."""

from __future__ import annotations

import contextlib
import itertools
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from oneflow.base import cluster
from oneflow.base.device import CPU, Device
from oneflow.base.keyword_aliases import keyword_aliases
from oneflow.base.placement import parse_device
from oneflow.program.captured_number import CapturedNumber, Seed
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array

_FIRST_SEED = 67280421310721
_STATE_BYTES = 16
_seed_counts = itertools.count(1)


@dataclass
class _GeneratorState:
    """The whole state of a generator."""

    seed: int
    stream: int

    def take_stream(self) -> int:
        """Return the next stream number, and move on."""
        stream = self.stream
        is_captured = type(stream) is CapturedNumber
        self.stream = stream.next_number() if is_captured else stream + 1
        return stream


class DrawCapture:
    """The draws of a program that is being captured.

    Generators give out numbers of the type `CapturedNumber` meanwhile, and stay where they are. The
    type tells which run-time numbers of the program have to be filled in before each run.
    """

    def __init__(self) -> None:
        self._positions: dict[Generator, _GeneratorState] = {}
        # States as tensors hold plain numbers.
        self._states: list[tuple[Tensor, _GeneratorState]] = []

    def position_of(self, generator: Generator) -> _GeneratorState:
        """The position of `generator` in the program."""
        position = self._positions.get(generator)
        if position is None:
            seed, stream = generator.base_position
            position = self._positions[generator] = _GeneratorState(
                CapturedNumber(seed, generator, None), CapturedNumber(stream, generator, 0)
            )
        return position

    def add_state(self, state: Tensor, position: tuple[int, int]) -> None:
        """Remember the position that a state is of."""
        self._states.append((state, _GeneratorState(*position)))

    def position_in(self, state: Tensor) -> tuple[int, int] | None:
        """The position that a state is of; None for a state from before the capture."""
        for known_state, position in self._states:
            if known_state is state:
                return position.seed, position.stream
        return None

    def draw_counts(self) -> list[tuple[Generator, int | None, tuple[int, int]]]:
        """Each generator with the number of its draws, and its position at the end.

        The number is None if the generator was started again from a seed.
        """
        draws = []
        for generator, position in self._positions.items():
            seed, stream = position.seed, position.stream
            count = None
            if isinstance(seed, CapturedNumber) and isinstance(stream, CapturedNumber):
                count = stream.draw if seed.generator is generator else None
            draws.append((generator, count, (int(seed), int(stream))))
        return draws

    def find(self, numbers: Sequence[Any]) -> list[tuple[int, int, CapturedNumber]]:
        """The captured ones of `numbers`: ``(position, index of the generator, number)``."""
        indices = {generator: index for index, generator in enumerate(self._positions)}
        return [
            (position, indices[number.generator], number)
            for position, number in enumerate(numbers)
            if type(number) is CapturedNumber
        ]


class _DrawState(threading.local):
    """The positions of this thread's draws, if not the generators' own.

    Attributes:
        capture: the capture of the program that is being recorded.
        replay: positions of generators from which draws are made again.
        before_draws: where generators stood before their first draw, while somebody wants to know.
    """

    capture: DrawCapture | None = None
    replay: Mapping[Generator, _GeneratorState] = MappingProxyType({})
    before_draws: dict[Generator, tuple[int, int]] | None = None


_DRAW_STATE = _DrawState()


@contextlib.contextmanager
def capture_draws() -> Iterator[DrawCapture]:
    """Context manager: every generator hands this thread captured numbers."""
    before, _DRAW_STATE.capture = _DRAW_STATE.capture, DrawCapture()
    try:
        yield _DRAW_STATE.capture
    finally:
        _DRAW_STATE.capture = before


@contextlib.contextmanager
def replay_draws(generator: Generator, position: tuple[int, int] | None) -> Iterator[None]:
    """Context manager: this thread draws from `generator` as it was at `position`.

    The generator itself stays where it is, for this thread afterwards and for others meanwhile.

    Args:
        generator: the generator.
        position: seed and stream that it had; None draws as usual.
    """
    before = _DRAW_STATE.replay
    if position is not None:
        seed, stream = position
        stream = stream.same_number() if isinstance(stream, CapturedNumber) else stream
        _DRAW_STATE.replay = {**before, generator: _GeneratorState(seed, stream)}
    try:
        yield
    finally:
        _DRAW_STATE.replay = before


@contextlib.contextmanager
def note_draws() -> Iterator[dict[Generator, tuple[int, int]]]:
    """Context manager: note which generators this thread draws from, and where they stood."""
    before_draws: dict[Generator, tuple[int, int]] = {}
    before, _DRAW_STATE.before_draws = _DRAW_STATE.before_draws, before_draws
    try:
        yield before_draws
    finally:
        _DRAW_STATE.before_draws = before
        if before is not None:
            before |= before_draws | before


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
        self._own = _GeneratorState(_FIRST_SEED, 0)

    @property
    def device(self) -> Device:
        """The device it was made for."""
        return self._device

    def __repr__(self) -> str:
        return f"<oneflow.Generator seed={self._own.seed} draws={self._own.stream}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _generator_at, (self._device, self.position)

    def next_stream(self) -> tuple[int, int]:
        """The seed and a stream number that no draw has used yet."""
        current = self._current()
        if _DRAW_STATE.before_draws is not None:
            _DRAW_STATE.before_draws.setdefault(self, (current.seed, current.stream))
        with self._lock:
            return current.seed, current.take_stream()

    def _current(self) -> _GeneratorState:
        """Its position for this thread: its own, a repeated one or one in a captured program."""
        replay = _DRAW_STATE.replay.get(self)
        if replay is not None:
            return replay
        capture = _DRAW_STATE.capture
        return self._own if capture is None else capture.position_of(self)

    @property
    def base_position(self) -> tuple[int, int]:
        """The position whatever this thread repeats or captures."""
        return self._own.seed, self._own.stream

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
        number %= 2**64
        self.position = Seed(number, next(_seed_counts)) if cluster.is_multiprocess() else number, 0
        return self

    def seed(self) -> int:
        """Start again from a seed taken from the operating system; returns it."""
        return self.manual_seed(secrets.randbits(64)).initial_seed()

    def initial_seed(self) -> int:
        """The seed it was last started from."""
        return int(self._own.seed)

    def get_state(self) -> Tensor:
        """Seed and next stream number as a uint8 tensor of 16 elements."""
        position = self.position
        state = import_array(np.array(position, "<u8").view(np.uint8))
        if _DRAW_STATE.capture is not None:
            _DRAW_STATE.capture.add_state(state, position)
        return state

    def set_state(self, state: Tensor) -> Generator:
        """Go on from a state that `get_state` returned.

        Returns:
            The generator.

        Raises:
            TypeError: it is not a uint8 tensor.
            RuntimeError: it has another size.
        """
        if not isinstance(state, Tensor) or state.dtype.name != "uint8":
            type_ = state.dtype if isinstance(state, Tensor) else type(state).__name__
            raise TypeError(f"expected `state` to be a oneflow.uint8 tensor, got {type_}")
        if state.numel() != _STATE_BYTES:
            raise RuntimeError(
                f"`state` has {state.numel()} elements, a generator's state has {_STATE_BYTES}"
            )
        captured = None if _DRAW_STATE.capture is None else _DRAW_STATE.capture.position_in(state)
        numbers = state.numpy().reshape(-1).view("<u8")
        self.position = captured or (int(numbers[0]), int(numbers[1]))
        return self

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


_initial_position = default_generator.position


def set_job_seed() -> None:
    """Start the default generator as all ranks of the job do, unless it has been used already.

    Broadcast values of a global tensor must be the same on all ranks.
    """
    seed = cluster.shared_seed()
    if seed is not None and default_generator.position == _initial_position:
        default_generator.manual_seed(seed)


set_job_seed()


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
    """Start the default generator again from a random seed; returns the seed.

    Example:
        >>> import oneflow as flow
        >>> flow.seed() == flow.initial_seed()
        True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator.

    Example:
        >>> import oneflow as flow
        >>> generator = flow.manual_seed(7)
        >>> flow.initial_seed()
        7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """State of the default generator as a uint8 tensor.

    Example:
        >>> import oneflow as flow
        >>> state = flow.get_rng_state()
        >>> first = flow.rand(2)
        >>> flow.set_rng_state(state)
        >>> flow.equal(flow.rand(2), first)
        True
    """
    return default_generator.get_state()


@keyword_aliases(new_state="state")
def set_rng_state(state: Tensor) -> None:
    """Put the default generator into a state that `get_rng_state` returned.

    Example:
        >>> import oneflow as flow
        >>> state = flow.get_rng_state()
        >>> first = flow.randperm(9)
        >>> flow.set_rng_state(state)
        >>> flow.equal(flow.randperm(9), first)
        True
    """
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
