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


class Values(dict[int, list]):
    """The value of each buffer on the host during a call of the step, by its identity.

    Attributes:
        inputs: tensors of the call, by the number of the step's input: its arguments, and what has
            been read so far.
    """

    def __init__(self, arguments: Sequence[Tensor] = ()) -> None:
        super().__init__()
        self.inputs = dict(enumerate(arguments))


# A function that returns those of the optimizers of a step that have stepped.
AfterCall = Callable[[Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True)
class HostInput:
    """A tensor that a step reads from the host before it runs.

    Attributes:
        placeholder: stands for it while the step is recorded.
        captured: the value of that.
        tensor: an input of the step; its value is replaced before each call, and it gets the
            gradient if the placeholder requires one.
        read: returns the next value, given the values of the call's buffers.
        source: the buffer on the host that it is made of.
    """

    placeholder: Tensor
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
        deferred: returns what computes a recorded tensor from the values of a call, before the
            step runs; None where nothing can.
        after_call: of each source, what is done with the gradients of its inputs after a call,
            given the optimizers of the step; it returns those that it has let step.
    """

    new_tensor: Callable[[TensorSpec], Tensor]
    sharding: BatchSharding = field(default_factory=BatchSharding)
    reader_of: dict[Any, Any] = field(default_factory=dict)
    inputs: list[HostInput] = field(default_factory=list)
    reader_count: int = 0
    deferred: Callable[[Tensor], Callable[[Values], Tensor]] | None = None
    after_call: dict[Any, AfterCall] = field(default_factory=dict)

    def add(self, spec: TensorSpec, read: Callable[[Values], Tensor], source: Any) -> HostInput:
        """Return a new host input, made of the buffer `source`."""
        placeholder = self.new_tensor(spec)
        added = HostInput(placeholder, unwrap(placeholder), wrap(Value(spec, None)), read, source)
        self.inputs.append(added)
        return added

    def source_of(self, tensor: Tensor) -> Any:
        """Return the buffer on the host that a tensor is made of; None of another tensor."""
        value = unwrap(tensor)
        return next(
            (host_input.source for host_input in self.inputs if host_input.captured is value), None
        )

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
    """Defer reading and decoding, and collect the host inputs that result."""
    token = _capture.set(capture)
    try:
        yield capture
    finally:
        _capture.reset(token)


def read_next(inputs: Sequence[HostInput], arguments: Sequence[Tensor]) -> None:
    """Read the next values of all inputs; those that come from one batch stay together."""
    values = Values(arguments)
    for host_input in inputs:
        host_input.tensor._value = unwrap(host_input.read(values))
        values.inputs[~host_input.captured.position] = host_input.tensor
