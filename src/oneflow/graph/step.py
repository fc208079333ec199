"""`Step`: a recorded and compiled step, bound to the tensors it reads and writes.

Everything that stays the same from call to call is worked out once, here; a call gathers arrays,
fills in the numbers that changed, runs, and hands the new arrays to their tensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import is_not
from sys import getrefcount
from typing import Any

from oneflow.base.spec import TensorSpec
from oneflow.compiler.lower import Executable
from oneflow.differentiation.grad_mode import MODE, no_grad
from oneflow.graph.agreement import runner_of
from oneflow.graph.observing import Traffic
from oneflow.graph.optimizing import RecordedStep
from oneflow.graph.pipeline import Pipeline
from oneflow.graph.structure import put_together
from oneflow.module.hooks import Hooks
from oneflow.primitives.operation import Operation
from oneflow.program.value import INFERENCE, Value
from oneflow.random.generator import Generator
from oneflow.runtime import checks
from oneflow.runtime.eager import flush_all
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor, accumulate_grad
from oneflow.tensor.views import write


@dataclass(frozen=True)
class Draws:
    """How a step uses one generator.

    Attributes:
        generator: the generator.
        count: how many streams a call takes; None if it starts again from a seed.
        end: position after a call, if `count` is None.
        seeds: places of its seed among the numbers.
        streams: places of stream numbers, with the number of the draw.
    """

    generator: Generator
    count: int | None
    end: tuple[int, int]
    seeds: tuple[int, ...]
    streams: tuple[tuple[int, int], ...]

    def refill(self, numbers: list[Any]) -> None:
        """Write the numbers of the next call, and move the generator on."""
        seed, stream = self.generator.position
        for place in self.seeds:
            numbers[place] = seed
        for place, draw in self.streams:
            numbers[place] = stream + draw
        self.generator.position = self.end if self.count is None else (seed, stream + self.count)


@dataclass
class Binding:
    """What the inputs and outputs of a program are.

    The program's inputs are arguments, variables and constants, in this order. Its outputs are the
    new values of variables, new contents of arguments, gradients to hand out, and results.

    Attributes:
        arguments: which tensor arguments are read.
        variables: tensors that are read.
        changed: how many of the variables, counted from the first, get new values.
        unread: tensors that get new values without being read.
        constants: arrays that are always the same.
        written: which tensor arguments are written to.
        gradients: tensors, or numbers of tensor arguments, that get gradients.
        results: per result, its spec, or the tensor or number of the argument that it is.
        structure: of the results.
        called: structure of the arguments.
        names: the variables' names, by the identity of the tensor.
        members: ``(dict, key, object)`` that have to be the same for the binding to hold.
        registries: dicts of modules that may get no further modules, parameters and buffers.
    """

    arguments: list[int]
    variables: list[Tensor]
    changed: int
    unread: list[Tensor]
    constants: list[Any]
    written: list[int]
    gradients: list[Tensor | int]
    results: list[TensorSpec | Tensor | int]
    structure: Any
    called: Any
    names: dict[int, str]
    members: list[tuple[dict, Any, Any]]
    registries: list[dict]


@dataclass
class Report:
    """What listings show of a step.

    Attributes:
        arguments: the tensor arguments, as text.
        results: the tensors among the results, as text.
        traffic: what went into each module and came out, by path.
        stages: what each stage of a pipeline does in order, as text.
    """

    arguments: list[str]
    results: list[str] = field(default_factory=list)
    traffic: dict[str, Traffic] = field(default_factory=dict)
    stages: list[str] = field(default_factory=list)


class _Holder:
    """Holds a reference to an object, as a tensor does to its value and a value to its array."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held


def _users(values: list, arrays: list, count: int) -> tuple[list[int], list[int]]:
    """How often the first `count` values, and their arrays, are referred to."""
    return list(map(getrefcount, values[:count])), list(map(getrefcount, arrays[:count]))


def _users_of_unshared() -> tuple[int, int]:
    """What `_users` says of a value and an array that one tensor alone uses."""
    tensors = [_Holder(_Holder(object()))]
    values = [tensor.held for tensor in tensors]
    arrays = [value.held for value in values]
    (of_value,), (of_array,) = _users(values, arrays, 1)
    return of_value, of_array


_OF_VALUE, _OF_ARRAY = _users_of_unshared()


class Step:
    """A compiled step; calling it runs it once.

    Attributes:
        executable: what runs.
        binding: what its inputs and outputs are.
        optimizers: the optimizer steps in it.
        numbers: its run-time numbers.
        report: what listings show of it.
        draws: how it uses generators.
        argument_specs: specs of the tensor arguments.
        checked: operations with a run-time check, and the user's lines that called them.
    """

    def __init__(
        self,
        executable: Executable | Pipeline,
        binding: Binding,
        numbers: list[Any],
        optimizers: Sequence[RecordedStep],
        draws: Sequence[Draws],
        checked: Sequence[tuple[Operation, str]],
        report: Report,
        argument_specs: Sequence[TensorSpec],
    ) -> None:
        self.executable = executable
        self.binding = binding
        self.optimizers = list(optimizers)
        self.numbers = numbers
        self.report = report
        self.argument_specs = list(argument_specs)
        self.draws = list(draws)
        self.checked = list(checked)
        self._run = executable if isinstance(executable, Pipeline) else runner_of(executable)
        self._specs = [tensor._value.spec for tensor in binding.variables]
        self._wanting = self._who_wants() if optimizers or binding.gradients else None
        empty = [
            (held, key, None) for held in binding.registries for key in held if held[key] is None
        ]
        hooks = [
            (held, key, hook)
            for held in binding.registries
            if isinstance(held, Hooks)
            for key, hook in held.items()
        ]
        members = [*binding.members, *empty, *hooks]
        self._holders = [holder for holder, _, _ in members]
        self._keys = [key for _, key, _ in members]
        self._objects = [value for _, _, value in members]
        self._sizes = list(map(len, binding.registries))
        self._failed = False
        self._unshared = [_OF_VALUE] * binding.changed, [_OF_ARRAY] * binding.changed

    def fits(self) -> bool:
        """Whether variables and optimizers are still those that were recorded."""
        now = map(dict.get, self._holders, self._keys)
        return (
            not self._failed
            and not any(map(is_not, now, self._objects))
            and list(map(len, self.binding.registries)) == self._sizes
            and [tensor._value.spec for tensor in self.binding.variables] == self._specs
            and (self._wanting is None or self._wanting == self._who_wants())
            and all(each.fits() for each in self.optimizers)
        )

    def _who_wants(self) -> list[bool]:
        """Which of the variables ask for gradients."""
        return [tensor._value.node is not None for tensor in self.binding.variables]

    def __call__(self, arguments: Sequence[Tensor], first: bool = False) -> Any:
        """Run the step.

        Args:
            arguments: the tensors of the call.
            first: the optimizers have counted this step already, while it was recorded.
        """
        flush_all("graph")
        binding = self.binding
        if binding.written:
            refuse_overlaps(arguments, binding.written, (*binding.variables, *binding.unread))
        for each in self.optimizers:
            each.settle()
        for tensor in [each for each in binding.variables if each._family is not None]:
            _leave_family(tensor)
        given = [arguments[place].value.read() for place in binding.arguments]
        values = [tensor._value for tensor in binding.variables]
        arrays = [value.array if value.array is not None else value.read() for value in values]
        shared: list[int] = []
        users = _users(values, arrays, binding.changed)
        if users != self._unshared:
            shared = [
                place
                for place, counts in enumerate(zip(*users, strict=True))
                if counts != (_OF_VALUE, _OF_ARRAY)
            ]
            for place in shared:
                arrays[place] = arrays[place].copy()
        counts = [each.counts() for each in self.optimizers]
        positions = [draws.generator.position for draws in self.draws]
        box: list[Any] = []
        try:
            self._refill(first)
            outputs, rows = self._run([*given, *arrays, *binding.constants], self.numbers, box)
            checks.inherit(given)
            if rows is not None:
                checks.add(rows, self.checked, outputs)
            self._replace_variables(values, outputs, shared)
            return self._hand_out(arguments, outputs[binding.changed :])
        except BaseException:
            # Variables have given up their old arrays; nothing else of the call is finished.
            outputs = self.executable.sorted_results(box[0])[0] if box else []
            self._replace_variables(values, outputs, shared)
            self._replace_unread(outputs[binding.changed :])
            if all(each is None for each in outputs):
                self._forget(first, counts, positions)
            raise

    def _forget(self, first: bool, counts: list, positions: list) -> None:
        """Take back what was counted for a call that failed."""
        for draws, position in zip(self.draws, positions, strict=True):
            draws.generator.position = position
        for each, before in zip(self.optimizers, counts, strict=True):
            if first:
                # The next call records the step again.
                self._failed = True
                each.undo()
            else:
                each.restore_counts(before)

    def _replace_variables(self, values: list[Value], outputs: list, shared: list[int]) -> None:
        """Give the variables that are read their new arrays.

        Args:
            values: the variables' values.
            outputs: of the program; None where a pipeline failed before it was there.
            shared: places of variables whose old arrays others keep.
        """
        changed = outputs[: self.binding.changed]
        if shared:
            self._replace_shared(values, changed, shared)
            return
        for value, array in zip(values, changed, strict=False):
            if array is not None:
                value.array = array

    def _replace_unread(self, arrays: list) -> None:
        """Write to the variables that are not read; `arrays` may have more at the end."""
        for tensor, array in zip(self.binding.unread, arrays, strict=False):
            if array is not None:
                _write(tensor, array)

    def _replace_shared(self, values: list[Value], arrays: list, shared: list[int]) -> None:
        """Replace the variables' arrays; others keep the old ones of those at `shared`."""
        others = set(shared)
        for place, array in enumerate(arrays):
            if array is None:
                continue
            if place in others:
                _write(self.binding.variables[place], array)
            else:
                values[place].array = array

    def _hand_out(self, arguments: Sequence[Tensor], outputs: list) -> Any:
        """Give what is not the new value of a variable that is read to those who get it."""
        binding = self.binding
        self._replace_unread(outputs)
        arrays = iter(outputs[len(binding.unread) :])
        for place in binding.written:
            _write(arguments[place], next(arrays))
        for owner in binding.gradients:
            tensor = arguments[owner] if isinstance(owner, int) else owner
            with no_grad():
                accumulate_grad(tensor, Value(tensor._value.spec, next(arrays)))
        results = []
        for each in binding.results:
            if isinstance(each, TensorSpec):
                result = Value(each, next(arrays))
                if MODE.inference:
                    result.stale = INFERENCE
                results.append(wrap(result))
            else:
                results.append(arguments[each] if isinstance(each, int) else each)
        return put_together(binding.structure, iter(results))

    def _refill(self, first: bool) -> None:
        """Write the numbers that differ from call to call."""
        if not first:
            for each in self.optimizers:
                each.refill(self.numbers)
        for draws in self.draws:
            draws.refill(self.numbers)


def refuse_overlaps(
    arguments: Sequence[Tensor], written: Sequence[int], variables: Iterable[Tensor]
) -> None:
    """See that nothing else of a step has the memory of an argument that it writes to.

    Raises:
        RuntimeError: an argument or a variable has.
    """
    for place in written:
        tensor = arguments[place]
        others = [*arguments[:place], *arguments[place + 1 :], *variables]
        if any(map(partial(_overlap, tensor), others)):
            raise RuntimeError(
                f"`build` writes to tensor argument {place}, which shares memory with another "
                "argument or with a tensor of the graph's modules; give the graph a clone"
            )


def _overlap(one: Tensor, other: Tensor) -> bool:
    """Whether one of two tensors is a view of the other, or the same."""
    mine, theirs = one._family, other._family
    if mine is None or theirs is None or mine.storage is not theirs.storage:
        return one is other
    steps = zip(mine.prefix + one._chain, theirs.prefix + other._chain, strict=False)
    return all(a == b for a, b in steps)


def _write(tensor: Tensor, array: Any) -> None:
    """Replace the content of a tensor, for all that share its memory."""
    with no_grad():
        write(tensor, Value(tensor._value.spec, array))


def _leave_family(tensor: Tensor) -> None:
    """Bring a tensor that shares its memory up to date; if nobody is left to share it, stop."""
    tensor._value = tensor.value
    family = tensor._family
    alone = getrefcount(family) == _OF_FAMILY and getrefcount(family.storage) == _OF_STORAGE
    if alone and not tensor._chain and not family.prefix:
        del tensor._family


def _references(owner: Any) -> tuple[int, int]:
    """What `_leave_family` counts for a family and a storage that one tensor alone uses."""
    family = owner.held
    return getrefcount(family), getrefcount(family.held)


_OF_FAMILY, _OF_STORAGE = _references(_Holder(_Holder(object())))
