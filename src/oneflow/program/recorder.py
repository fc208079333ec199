"""The recorder: appends instructions to the program being built.

Its cost is counted in nanoseconds.

It appends to the *key* of the program and to nothing else: the operation, then one reference per
operand. A reference is the position of an earlier output (>= 0), an input array (its bitwise
complement, < 0), or None for a Python number, which takes the next slot of the run-time scalars.
The key identifies the program; the full `Program` is made from it only when it has not been seen
before.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from weakref import ref

from oneflow.base.device import Device
from oneflow.base.placement import Placement
from oneflow.base.spec import TensorSpec
from oneflow.primitives.operation import Operation
from oneflow.program.ir import iterate_key
from oneflow.program.value import Value, new_value


@dataclass(slots=True)  # one is made for every write; a frozen one takes three times as long
class Replacement:
    """A recorded value that took the place of another one in a tensor.

    Attributes:
        position: the position of the new value among the outputs of its recorder.
        new: weak reference to the new value.
        old: what was there before: an output position of the same recorder (>= 0), a reference to
            one of its inputs (< 0), an array, or a value that another recorder produces.
        invalidate: makes those who share the memory look at it again.
    """

    position: int
    new: ref[Value]
    old: Any
    invalidate: Callable[[], None] | None


class Rollback:
    """A record from which tensors get their old values back if a program or a check of it fails.

    Attributes:
        replaced: the values that took the place of others.
        updates: those among them that were written behind a run-time check: references to the new
            value and to the old one, flat, in order.
        updated: specs of the inputs among the old ones.
        undo: called for what the host has done itself, such as counting a step.
    """

    __slots__ = ("replaced", "undo", "updated", "updates")

    def __init__(self) -> None:
        self.replaced: list[Replacement] = []
        self.updates: list[int] = []
        self.updated: dict[int, TensorSpec] = {}
        self.undo: list[Callable[[], None]] = []


# This lock is held by a thread that takes what another one has recorded, or changes what it takes.
_CHANGE_LOCK = threading.RLock()


class Recorder(ABC):
    """Instructions recorded since the last flush on one device by one thread.

    A signal handler may run wherever Python calls something. It may raise an exception, and it may
    record and flush here itself. So an instruction is prepared first and appended afterwards, by
    statements that call nothing, provided that `end` is still what it was. Another thread may want
    a value at any point, even between those statements: it takes the instructions that are complete
    by then (`take`), and what is being appended is recorded anew (`_is_taken`).

    Attributes:
        key: operations and operand references, flat, in order.
        outputs: weak references to the values of each output position, to see at the flush who is
            still wanted.
        end: the next output position; -1 once the recorder is closed.
        aliases: further ``(position, weak reference)`` pairs.
        arrays: input arrays, in order of first use; what a value has in place of a recorder where
            `read_input` gave that.
        scalars: Python numbers in order of use.
        checked: ``(operation, user's source line)`` of each instruction with a run-time check, in
            order.
        rollback: what gives tensors back what they held.
        closed: it has been flushed and takes no more instructions.
        done: its program has run, or has failed for good.
        error: why some values could not be computed; reading those raises it.
        guarded: a check before the program may have failed, and then it writes nothing; so all
            that it writes is noted as if behind a check.
        taken: the end of what another thread has taken.
    """

    __slots__ = (
        "aliases",
        "arrays",
        "checked",
        "closed",
        "device",
        "done",
        "end",
        "error",
        "guarded",
        "input_references",
        "key",
        "outputs",
        "rollback",
        "scalars",
        "taken",
        "user_line",
    )

    # A symbolic recorder never computes anything, so its values cannot be shown.
    symbolic = False

    def __init__(self, device: Device | Placement, user_line: Callable[[], str]) -> None:
        self.device = device
        self.key: list[Any] = []
        self.outputs: list[ref] = []
        self.end = 0
        self.aliases: list[tuple[int, ref]] = []
        self.arrays: Any = []
        self.input_references: dict[int, int] = {}
        self.scalars: list[Any] = []
        self.checked: list[tuple[Operation, str]] = []
        self.rollback = Rollback()
        self.error: BaseException | None = None
        self.closed = False
        self.done = False
        self.guarded = False
        self.taken = 0
        self.user_line = user_line

    def append(self, operation: Operation, operands: tuple) -> Value | None:
        """Append an instruction with one output and without a check; the common case of `record`.

        Returns:
            Its value, or None as `record` does.
        """
        position, inputs, numbers = self.end, self.input_references, ()
        if position < 0:
            return None
        if len(operands) == 2:
            x, y = operands
            if type(x) is not Value:
                entry, numbers = self._references(operation, operands)
            else:
                first = (
                    x.position
                    if x.recorder is self
                    else inputs.get(id(x.array)) or self.add_input(x)
                )
                if type(y) is Value:
                    last = (
                        y.position
                        if y.recorder is self
                        else inputs.get(id(y.array)) or self.add_input(y)
                    )
                    entry = operation, first, last
                else:
                    entry, numbers = (operation, first, None), (y,)
        elif len(operands) == 1 and type(x := operands[0]) is Value:
            first = (
                x.position if x.recorder is self else inputs.get(id(x.array)) or self.add_input(x)
            )
            entry = operation, first
        else:
            entry, numbers = self._references(operation, operands)
        result = new_value(operation.out_specs[0], None, self, position)
        reference = (ref(result),)
        key, outputs, scalars = self.key, self.outputs, self.scalars
        # From here on nothing is called.
        if self.end != position:
            return None
        key += entry
        outputs += reference
        if numbers:
            scalars += numbers
        self.end = position + 1
        return None if self.closed and not self._is_taken(position) else result

    def _references(self, operation: Operation, operands: tuple) -> tuple[list, list]:
        """The entry of an instruction in the key, and the Python numbers among its operands."""
        entry: list[Any] = [operation]
        numbers = []
        for operand in operands:
            if type(operand) is Value:
                entry.append(
                    operand.position if operand.recorder is self else self.add_input(operand)
                )
            else:
                numbers.append(operand)
                entry.append(None)
        return entry, numbers

    def record(self, operation: Operation, operands: tuple) -> Any:
        """Append one instruction.

        Returns:
            Its value, or a tuple of values if it has several outputs; None if a signal handler has
            recorded or flushed here meanwhile, so that nothing was appended.
        """
        position = self.end
        entry, numbers = self._references(operation, operands)
        check = [(operation, self.user_line())] if operation.needs_check else []
        if check and not self.rollback.replaced:  # all writes are yet to come
            self.guarded = True
        result: Any
        if operation.single:
            result = new_value(operation.out_specs[0], None, self, position)
            references, end = [ref(result)], position + 1
        else:
            specs = operation.out_specs
            end = position + len(specs)
            result = tuple([new_value(s, None, self, p) for p, s in enumerate(specs, position)])
            references = list(map(ref, result))
        key, outputs, scalars, checked = self.key, self.outputs, self.scalars, self.checked
        # From here on nothing is called.
        if self.end != position or position < 0:
            return None
        key += entry
        outputs += references
        scalars += numbers
        checked += check
        self.end = end
        return None if self.closed and not self._is_taken(position) else result

    def add_input(self, value: Value) -> int:
        """Reference to a value that this program takes as input.

        Raises:
            Whatever reading it raised.
        """
        array = value.array
        if array is None:
            array = self.read_input(value)
        reference = self.input_references.get(id(array))
        if reference is None:
            arrays = self.arrays
            arrays += (array,)
            reference = -len(arrays)
            if arrays[~reference] is not array:  # a signal handler has added more of them
                reference = ~next(i for i, input_array in enumerate(arrays) if input_array is array)
            self.input_references[id(array)] = reference
        return reference

    def read_input(self, value: Value) -> Any:
        """The array of a value that this program is about to take as input.

        Raises:
            Whatever reading it raised.
        """
        return value.read()

    def drop_unused_inputs(self) -> bool:
        """Forget inputs of instructions that were given up before they were appended.

        Returns:
            True if there were any.
        """
        arrays = self.arrays
        pairs = [*(references for _, references in iterate_key(self.key)), self.rollback.updates]
        used = sorted({~r for references in pairs for r in references if r is not None and r < 0})
        if len(used) == len(arrays):
            return False
        remapped = {~place: ~number for number, place in enumerate(used)}
        key = [remapped.get(r, r) if isinstance(r, int) else r for r in self.key]
        # Such an input can be what a tensor held before.
        rollback = self.rollback
        replaced = [
            replace(replacement, old=remapped.get(replacement.old, arrays[~replacement.old]))
            if isinstance(replacement.old, int) and replacement.old < 0
            else replacement
            for replacement in rollback.replaced
        ]
        updates = [remapped.get(r, r) for r in rollback.updates]
        updated = {~remapped[~p]: spec for p, spec in rollback.updated.items() if ~p in remapped}
        used_arrays = type(arrays)([arrays[place] for place in used])
        inputs = {id(array): ~number for number, array in enumerate(used_arrays)}
        # From here on nothing is called; a signal handler may have done the same meanwhile.
        if self.arrays is arrays:
            self.key, self.arrays, self.input_references = key, used_arrays, inputs
            rollback.replaced, rollback.updates, rollback.updated = replaced, updates, updated
        return True

    def note_replacement(
        self, new: Value, old: Value, invalidate: Callable[[], None] | None = None
    ) -> None:
        """Remember what a tensor held before the pending value `new` of this recorder.

        Args:
            new: what the tensor holds now.
            old: what it held.
            invalidate: makes those who share the memory look at it again.
        """
        if self.checked or self.guarded:
            if old.recorder is not self:
                self.read_input(old)
            with _CHANGE_LOCK:
                if not self.closed:
                    self._note_checked_replacement(new, old, invalidate)
            return
        replacement = Replacement(new.position, ref(new), self._before(old), invalidate)
        rollback = self.rollback
        # From here on nothing is called.
        rollback.replaced += (replacement,)

    def _note_checked_replacement(
        self, new: Value, old: Value, invalidate: Callable[[], None] | None
    ) -> None:
        before = old.position if old.recorder is self else self.add_replaced_input(old)
        if before == new.position:
            return
        rollback = self.rollback
        if before < 0:
            rollback.updated[~before] = old.spec
        replacement = Replacement(new.position, ref(new), before, invalidate)
        # From here on nothing is called.
        rollback.replaced += (replacement,)
        rollback.updates += (new.position, before)
        if invalidate is not None:  # views have what they wrote
            rollback.undo += (invalidate,)

    def add_replaced_input(self, value: Value) -> int:
        """Take the value of before a write as an input; the write is recorded already."""
        return self.add_input(value)

    def _before(self, old: Value) -> Any:
        """A value that a tensor held before, as `Replacement` has it."""
        if old.recorder is self:
            return old.position
        if old.array is None:
            return self.input_references.get(id(old.recorder), old)
        # Who counts references to an input, to see whether it can be donated, finds none here.
        return self.input_references.get(id(old.array), old.array)

    def note_gradient(self, restore: Callable[[], None]) -> None:
        """Remember what gives a tensor its old gradient back, should a check fail."""
        if self.checked or self.guarded:
            self.rollback.undo += (restore,)

    def add_alias(self, value: Value) -> None:
        """Register another handle on a pending output."""
        self.aliases.append((value.position, ref(value)))

    def close(self) -> None:
        """Take no more instructions."""
        self.end = -1
        self.closed = True

    def take(self) -> None:
        """Take no more instructions of the thread that records here, which is another one.

        It may be appending one to the lists that it has found here: others take their place, with
        the instructions that are complete.
        """
        with _CHANGE_LOCK:
            self.closed = True
            end = self.taken = self.end
            self.end = -1
            position = length = scalars = checked = 0
            for operation, references in iterate_key(self.key):
                if position == end:
                    break
                position += operation.count
                length += 1 + len(references)
                scalars += references.count(None)
                checked += operation.needs_check
            self.key, self.outputs = self.key[:length], self.outputs[:end]
            self.scalars, self.checked = self.scalars[:scalars], self.checked[:checked]
            # It may be about to add to these; nobody can add to a tuple.
            self.arrays, self.input_references = tuple(self.arrays), dict(self.input_references)

    def _is_taken(self, position: int) -> bool:
        """Test if another thread took the instruction whose output has that position."""
        with _CHANGE_LOCK:
            self.end = -1
            return position < self.taken

    def release(self) -> None:
        """Release arrays and numbers without running anything; some refer to optimizers."""
        # The lists may be in another thread's hands.
        self.arrays, self.input_references, self.scalars = [], {}, []
        if self.rollback.replaced or self.rollback.undo:
            self.rollback = Rollback()

    @abstractmethod
    def flush(self, reason: str) -> None:
        """Run the recorded instructions; afterwards every live value has its array.

        Raises:
            Whatever running it raised, now or when it was first tried.
        """
