"""The recorder: appends instructions to the program being built.

Its cost is counted in nanoseconds.

What it appends is the *key* of the program and nothing else: the operation, then one reference per
operand. A reference is the position of an earlier output (>= 0), a leaf array (its bitwise
complement, < 0), or None for a Python number, which takes the next slot of the run-time scalars.
The key identifies the program; the full `Program` is made from it only when it has not been seen
before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from oneflow.base.device import Device
from oneflow.base.placement import Placement
from oneflow.primitives.operation import Operation
from oneflow.program.value import Value


class Recorder:
    """Instructions recorded since the last flush on one device by one thread.

    Attributes:
        key: operations and operand references, flat, in order.
        outputs: weak references to the values of each output position, to see at the flush who is
            still wanted.
        aliases: further ``(position, weak reference)`` pairs.
        arrays: leaf arrays in order of first use.
        scalars: Python numbers in order of use.
        checked: ``(operation, user's source line)`` of each instruction with a run-time check, in
            order.
        closed: it has been flushed and takes no more instructions.
        error: why running it failed, if it did; its values raise this again.
        recorded_by: the run-time checks of the thread that recorded it; the runtime's own record.
    """

    __slots__ = (
        *(
            "aliases",
            "arrays",
            "checked",
            "device",
            "error",
            "key",
            "leaves",
            "outputs",
            "scalars",
        ),
        *("_run", "closed", "locate", "recorded_by"),
    )

    # Whether nothing is ever computed here, so that its values cannot be shown.
    symbolic = False

    def __init__(
        self,
        device: Device | Placement,
        run: Callable[[Recorder, str], None],
        locate: Callable[[], str],
    ) -> None:
        self.device = device
        self.key: list[Any] = []
        self.outputs: list[ref] = []
        self.aliases: list[tuple[int, ref]] = []
        self.arrays: list[Any] = []
        self.leaves: dict[int, int] = {}
        self.scalars: list[Any] = []
        self.checked: list[tuple[Operation, str]] = []
        self.error: BaseException | None = None
        self.closed = False
        self.recorded_by: Any = None
        self._run = run
        self.locate = locate

    def record(self, operation: Operation, operands: tuple) -> Any:
        """Append one instruction.

        Returns its value, or a tuple of values if it has several outputs.
        """
        append = self.key.append
        append(operation)
        for operand in operands:
            if type(operand) is Value:
                append(operand.position if operand.trace is self else self.leaf(operand))
            else:
                self.scalars.append(operand)
                append(None)
        if operation.needs_check:
            self.checked.append((operation, self.locate()))
        outputs = self.outputs
        if operation.single:
            value = Value(operation.out_specs[0], None, self, len(outputs))
            outputs.append(ref(value))
            return value
        values = []
        for spec in operation.out_specs:
            value = Value(spec, None, self, len(outputs))
            outputs.append(ref(value))
            values.append(value)
        return tuple(values)

    def leaf(self, value: Value) -> int:
        """Reference to a value that this program takes as input.

        Raises:
            Whatever reading it raised; then nothing is left of the instruction that asks for it.
        """
        array = value.array
        if array is None:
            try:
                array = value.read()
            except BaseException:
                self._drop_unfinished()
                raise
        reference = self.leaves.get(id(array))
        if reference is None:
            reference = self.leaves[id(array)] = ~len(self.arrays)
            self.arrays.append(array)
        return reference

    def _drop_unfinished(self) -> None:
        """Remove the last instruction, not all of whose operands are there."""
        while not isinstance(reference := self.key.pop(), Operation):
            if reference is None:
                self.scalars.pop()
            elif (
                ~reference == len(self.arrays) - 1
                and reference not in self.key
                and id(self.arrays[-1]) in self.leaves
            ):
                del self.leaves[id(self.arrays.pop())]

    def add_alias(self, value: Value) -> None:
        """Register another handle on a pending output."""
        self.aliases.append((value.position, ref(value)))

    def flush(self, reason: str) -> None:
        """Run what was recorded; afterwards every value still held has its array.

        Raises:
            Whatever running it raised, now or when it was first tried.
        """
        if self.error is not None:
            raise self.error
        self._run(self, reason)
