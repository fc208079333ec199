"""`Value`: a handle on one array that is known, or that a recorded instruction will produce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from oneflow.base.spec import TensorSpec


class PendingRecorder(Protocol):
    """A recorder, as a pending value sees it."""

    # True if nothing is ever computed there.
    symbolic: bool

    def add_alias(self, value: Value) -> None:
        """Register another handle on a pending output."""

    def note_replacement(
        self, new: Value, old: Value, invalidate: Callable[[], None] | None = None
    ) -> None:
        """Remember what a tensor held before the pending value `new`."""

    def note_gradient(self, restore: Callable[[], None]) -> None:
        """Remember what gives a tensor its old gradient back, should a check fail."""

    def flush(self, reason: str) -> None:
        """Run the recorded instructions."""


# In `Value.stale`: made in inference mode.
INFERENCE: Final = "inference"


class Value:
    """An immutable array, present or still to come, with its place in the autograd graph.

    Attributes:
        spec: shape, dtype and device; always known.
        array: the JAX array once it exists, else None.
        recorder: the recorder whose instruction produces it while it is pending, else None.
        position: number of that recorder's output.
        node: autograd node that produced it, or None if no gradient flows through it.
        output_index: which output of the node it is.
        stale: why it must not be saved for backward: True when an in-place write has replaced it in
            its tensor, `INFERENCE` when it was made in inference mode; else False.
    """

    __slots__ = (
        "__weakref__",
        "array",
        "node",
        "output_index",
        "position",
        "recorder",
        "spec",
        "stale",
    )

    def __init__(
        self,
        spec: TensorSpec,
        array: Any = None,
        recorder: PendingRecorder | None = None,
        position: int = -1,
    ) -> None:
        self.spec = spec
        self.array = array
        self.recorder = recorder
        self.position = position
        self.node: Any = None
        self.output_index = 0
        self.stale: bool | str = False

    def alias(self) -> Value:
        """Return another handle on the same array, without autograd history."""
        recorder = self.recorder  # read first: another thread may be giving the value its array
        other = new_value(self.spec, self.array, recorder, self.position)
        if self.stale is INFERENCE:
            other.stale = INFERENCE
        while other.array is None and recorder is not None:
            recorder.add_alias(other)
            if self.recorder is recorder and self.array is None:
                break
            # It has run meanwhile. An array is there before the recorder goes, so it is read last.
            recorder = other.recorder = self.recorder
            other.array = self.array
        return other

    def read(self) -> Any:
        """Return the JAX array, after running the recorded instructions (a sync point)."""
        while self.array is None and (recorder := self.recorder) is not None:
            recorder.flush("read")
            if self.recorder is recorder:
                break
        return self.array

    @property
    def is_symbolic(self) -> bool:
        """True if the value is symbolic: part of a graph that is being captured."""
        recorder = self.recorder
        return self.array is None and recorder is not None and recorder.symbolic

    def __repr__(self) -> str:
        return f"<value {self.spec!r}{' pending' if self.array is None else ''}>"


class ValueOfClass(Value):
    """Base of values that are no array: the class of their tensor computes operators of them."""

    __slots__ = ()

    def handle(self) -> Any:
        """Return a tensor of that class with this value."""
        raise NotImplementedError

    def kept(self) -> Value:
        """Return a value with the same history that keeps the tensor alive."""
        raise NotImplementedError


_new = Value.__new__


def new_value(
    spec: TensorSpec, array: Any, recorder: PendingRecorder | None, position: int
) -> Value:
    """``Value(spec, array, recorder, position)``: Python calls functions faster than classes."""
    value = _new(Value)
    value.spec = spec
    value.array = array
    value.recorder = recorder
    value.position = position
    value.node = None
    value.output_index = 0
    value.stale = False
    return value
