"""A recorder that runs nothing: it records a whole step of a graph, inputs included."""

from __future__ import annotations

import contextlib
import gc
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

from oneflow.base.device import Device
from oneflow.base.location import user_line
from oneflow.base.placement import Placement
from oneflow.base.spec import TensorSpec
from oneflow.passes.partition import PREPARE, Phase
from oneflow.program.ir import Program, number_of
from oneflow.program.recorder import Recorder
from oneflow.program.value import Value
from oneflow.runtime.eager import EagerRecorder, current, flush_all

NO_VALUES = (
    "The whole step is compiled before anything has a value, so `bool(tensor)`, `.item()`, "
    "`.numpy()`, Python `if` or `while` on a tensor, and results whose shape depends on values "
    "(`nonzero`, `x[mask]`) cannot be part of it; use `oneflow.where`, or return the tensor and "
    "decide outside"
)


class CapturingRecorder(Recorder):
    """A recorder of the step of a graph. Its values have no arrays, and reading one is an error.

    Attributes:
        graph_name: name of the graph, for errors.
        body: what is recorded, for errors.
        specs: spec of each input, in the order of `arrays`; an array is None where it differs from
            call to call.
        pinned: positions of conversions that the user asked for.
        outsider: the user's line that first used a tensor that requires grad and is no input; None
            if there is none.
    """

    __slots__ = ("_phases", "body", "graph_name", "outsider", "pinned", "specs")
    symbolic = True

    def __init__(self, device: Device, graph_name: str, body: str) -> None:
        super().__init__(device, user_line)
        self.graph_name = graph_name
        self.body = body
        self.specs: list[TensorSpec] = []
        self.pinned: set[int] = set()
        self.outsider: str | None = None
        self._phases: list[tuple[int, Phase]] = []

    def takes(self, device: Device | Placement) -> bool:
        """Return whether `device` is the step's, or both are placements."""
        both = isinstance(device, Placement) and isinstance(self.device, Placement)
        return both or device is self.device

    def begin(self, phase: Phase) -> None:
        """Assign instructions that are recorded from now on to `phase`."""
        self._phases.append((len(self.outputs), phase))

    def phase_of(self, position: int) -> Phase:
        """The phase in which the output at `position` was recorded."""
        index = bisect_right(self._phases, position, key=lambda change: change[0])
        return self._phases[index - 1][1] if index else Phase(PREPARE)

    def new_input(self, spec: TensorSpec) -> Value:
        """Return the placeholder of an array that each call passes."""
        self.arrays.append(None)
        self.specs.append(spec)
        return Value(spec, None, self, ~(len(self.arrays) - 1))

    def add_input(self, value: Value) -> int:
        """Return the reference to an array that is the same in every call."""
        number = len(self.arrays)
        try:
            reference = super().add_input(value)
        finally:
            del self.specs[len(self.arrays) :]
        if len(self.arrays) > number:
            self.specs.append(value.spec)
            if value.node is not None and self.outsider is None:
                self.outsider = user_line()
        return reference

    def note_replacement(
        self, new: Value, old: Value, invalidate: Callable[[], None] | None = None
    ) -> None:
        """Remember a write that comes, or may come, behind a run-time check.

        The tensors themselves get back what they held when recording ends.
        """
        if self.checked or self.guarded:
            before = self.reference(old)
            if before != new.position:
                self.rollback.updates += (new.position, before)

    def note_gradient(self, restore: Callable[[], None]) -> None:
        """Forget it: the call of a step hands out gradients itself."""

    def written_in(
        self, program: Program, assigned: Iterable[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """The numbers of the new and the old values of tensors written to behind a check.

        Args:
            program: what was recorded.
            assigned: references to new values of variables, and to their old ones.
        """
        updates = self.rollback.updates
        written = list(zip(updates[::2], updates[1::2], strict=True))
        new_numbers = {new for new, _ in written}
        written += [pair for pair in assigned if pair[0] not in new_numbers]
        return [(number_of(new, program), number_of(old, program)) for new, old in written]

    def reference(self, value: Value) -> int:
        """Return the program's reference to any value: one of its own, or a constant.

        Raises:
            OtherDeviceError: the value is local and the step runs on a placement, or the reverse.
        """
        if value.recorder is self:
            return value.position
        device = value.spec.device
        if isinstance(device, Placement) is not isinstance(self.device, Placement):
            raise OtherDeviceError(self, device)
        return self.add_input(value)

    def flush(self, reason: str) -> None:
        """Run nothing while a step is recorded; reading a value is an error.

        Raises:
            RuntimeError: a value was read.
        """
        if self.closed:
            raise RuntimeError(
                f"this tensor was made inside {self.body} of {self.graph_name} and is not "
                f"one of its results, so it has no values; return it from {self.body}, or "
                "make it a buffer of a module"
            )
        if reason == "read":
            raise RuntimeError(
                f"{self.graph_name}: a tensor's value was read inside {self.body}{user_line()}. "
                f"{NO_VALUES}"
            )


class OtherDeviceError(RuntimeError):
    """A step made tensors on another device than its own, and used more than their sizes.

    Attributes:
        device: the other device, or placement.
    """

    def __init__(
        self, recorder: CapturingRecorder, device: Device | Placement, line: str = ""
    ) -> None:
        super().__init__(
            f"{recorder.graph_name}: {recorder.body} made tensors on `{device}`, but the "
            f"graph runs on `{recorder.device}`; a graph runs on one device, or on placements. "
            f"Only the sizes of such tensors can be used, not their values{line}: make them where "
            "the graph runs"
        )
        self.device = device


class _OtherDeviceRecorder(EagerRecorder):
    """A recorder of the operations of `build` on another device than the step's.

    Nothing runs there while the step is recorded: values would be the same in every call.
    """

    __slots__ = ("_step",)

    def __init__(self, device: Device | Placement, step: CapturingRecorder) -> None:
        super().__init__(device, user_line)
        self._step = step

    @property
    def symbolic(self) -> bool:  # type: ignore[override]
        """True while the step is recorded."""
        return not self._step.closed

    def flush(self, reason: str) -> None:
        """Run the recorded instructions after the step, for values that are held after an error.

        Raises:
            OtherDeviceError: a value was read within `build`.
        """
        if self._step.closed:
            super().flush(reason)
        elif reason == "read":
            raise OtherDeviceError(self._step, self.device, user_line())

    def has_references(self) -> bool:
        """Return whether something refers to a result."""
        references = (*self.outputs, *(reference for _, reference in self.aliases))
        return any(reference() is not None for reference in references)


@contextlib.contextmanager
def capturing(recorder: CapturingRecorder) -> Iterator[None]:
    """Context manager: this thread records into `recorder`.

    Raises:
        OtherDeviceError: a value of what was recorded for another device was read, as by a
            conversion to the step's placement, or is still held; tensors of which only the sizes
            were asked for are dropped.
    """
    flush_all("graph")
    before = current.recorder, current.capture, current.pinned
    previous = dict(current.recorders)
    others: list[_OtherDeviceRecorder] = []

    def recorder_of(device: Device | Placement) -> Recorder:
        if recorder.takes(device):
            return recorder
        others.append(_OtherDeviceRecorder(device, recorder))
        return others[-1]

    current.recorders.clear()
    current.recorders[recorder.device] = current.recorder = recorder
    current.capture, current.pinned = recorder_of, recorder.pinned
    try:
        yield
        if any(other.has_references() for other in others):
            gc.collect()  # reference cycles hold nothing
        for other in others:
            if other.has_references():
                raise OtherDeviceError(recorder, other.device)
    finally:
        recorder.close()
        current.recorders.clear()
        current.recorders.update(previous)
        current.recorder, current.capture, current.pinned = before
