"""`HostInput`: a tensor that a captured step reads from the host before it runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from oneflow.base.spec import TensorSpec
from oneflow.program.value import Value
from oneflow.tensor.batch_sharding import BatchSharding
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap

# What each buffer on the host holds during a call of the step, by its identity.
Values = dict[int, list]


@dataclass(frozen=True)
class HostInput:
    """A tensor that a step reads from the host before it runs.

    Attributes:
        captured: the value that stands for it while the step is recorded.
        tensor: an input of the step; its value is replaced before each call.
        read: returns the next value, given the values of the call's buffers.
        source: the buffer on the host that it is made of.
    """

    captured: Value
    tensor: Tensor
    read: Callable[[Values], Tensor]
    source: Any


@dataclass
class HostInputCapture:
    """The host inputs of a step that is being recorded.

    Attributes:
        new_tensor: returns the tensor that stands for values of a spec while the step is recorded.
        sharding: where local tensors are, and those of readers that are not told where.
        reader_of: those that functions without a module have opened, in their order.
        inputs: the host inputs.
        reader_count: how many readers the functions have opened so far.
    """

    new_tensor: Callable[[TensorSpec], Tensor]
    sharding: BatchSharding = field(default_factory=BatchSharding)
    reader_of: dict[Any, Any] = field(default_factory=dict)
    inputs: list[HostInput] = field(default_factory=list)
    reader_count: int = 0

    def add(self, spec: TensorSpec, read: Callable[[Values], Tensor], source: Any) -> Tensor:
        """Return the tensor of a new host input, made of the buffer `source`."""
        tensor = self.new_tensor(spec)
        self.inputs.append(HostInput(unwrap(tensor), wrap(Value(spec, None)), read, source))
        return tensor

    def source_of(self, tensor: Tensor) -> Any:
        """Return the buffer on the host that a tensor is made of; None of another tensor."""
        value = unwrap(tensor)
        return next((each.source for each in self.inputs if each.captured is value), None)

    def reader(self, make: Callable[[], Any]) -> Any:
        """Return the reader that an earlier recording opened at this place, or a new one."""
        key = self.sharding.replica, self.reader_count
        self.reader_count += 1
        if key not in self.reader_of:
            self.reader_of[key] = make()
        return self.reader_of[key]


_capture: ContextVar[HostInputCapture | None] = ContextVar("_capture", default=None)


def current_host_inputs() -> HostInputCapture | None:
    """Return the capture that is under way, if any."""
    return _capture.get()


@contextlib.contextmanager
def capture_host_inputs(capture: HostInputCapture) -> Iterator[HostInputCapture]:
    """Defer what is read and decoded, and collect the host inputs that come of it."""
    token = _capture.set(capture)
    try:
        yield capture
    finally:
        _capture.reset(token)


def read_next(inputs: Sequence[HostInput]) -> None:
    """Read the next values of all inputs; those that come from one batch stay together."""
    values: Values = {}
    for each in inputs:
        each.tensor._value = unwrap(each.read(values))
