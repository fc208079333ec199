"""`Step`: a compiled step, bound to the tensors it reads and writes.

Everything that stays the same from call to call is computed once, here; a call gathers arrays,
fills in the numbers that changed, runs, and gives the new arrays to their tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from operator import attrgetter, methodcaller
from sys import getrefcount
from typing import Any
from weakref import ref

from oneflow.base.device import CPU
from oneflow.base.no_interrupt import run_without_interrupt
from oneflow.base.spec import TensorSpec, with_sbp
from oneflow.compiler.failed_flag import CheckResults
from oneflow.compiler.lower import Executable
from oneflow.differentiation.grad_mode import MODE, no_grad
from oneflow.graph.attribute_guards import AttributeGuards
from oneflow.graph.binding import StepBinding
from oneflow.graph.captured_step import CapturedStep, StepSummary
from oneflow.graph.engine_executable import EngineExecutable
from oneflow.graph.optimizer_steps import GraphOptimizer
from oneflow.graph.pipeline_parallel import PipelineExecutable
from oneflow.graph.program_consistency import runner_for
from oneflow.graph.pytree import tree_unflatten
from oneflow.graph.variables import Attribute
from oneflow.module.hooks import Hooks
from oneflow.passes.checked_updates import invalid_outputs
from oneflow.program.value import INFERENCE, Value
from oneflow.runtime import checks
from oneflow.runtime.checks import ProgramChecks, thread_checks
from oneflow.runtime.eager import flush_all
from oneflow.runtime.events import SINK, EventKind, span
from oneflow.runtime.step_trial import StepTrial
from oneflow.tensor.call import wrap
from oneflow.tensor.copied_memory import Pointer, is_exclusive
from oneflow.tensor.host_inputs import read_next
from oneflow.tensor.strides import share_elements
from oneflow.tensor.tensor import Tensor, add_gradient, restore_gradient
from oneflow.tensor.views import unwrap, write


def _copy_shared(arrays: list[Any], references: tuple[list[int], list[int]]) -> list[int]:
    """Replace arrays that somebody else refers to by copies; return their indices."""
    shared = [
        index
        for index, counts in enumerate(zip(*references, strict=True))
        if counts != (_OF_VALUE, _OF_ARRAY)
    ]
    for index in shared:
        arrays[index] = run_without_interrupt(arrays[index].copy)
    return shared


def _reference_counts(values: list, arrays: list, count: int) -> tuple[list[int], list[int]]:
    """The reference counts of the first `count` values, and of their arrays."""
    # A slice would refer to each of them once more.
    return (
        list(map(getrefcount, islice(values, count))),
        list(map(getrefcount, islice(arrays, count))),
    )


def _exclusive_counts() -> tuple[int, int]:
    """The `_reference_counts` of a value and an array that only one tensor uses."""
    tensors = [Pointer(Pointer(object()))]
    values = [tensor.target for tensor in tensors]
    arrays = [value.target for value in values]
    (of_value,), (of_array,) = _reference_counts(values, arrays, 1)
    return of_value, of_array


_OF_VALUE, _OF_ARRAY = _exclusive_counts()
_SPEC = attrgetter("spec")
_LITTLE = 1 << 20  # bytes of values that a step may keep from one call to the next
_IS_CURRENT, _COUNTS = methodcaller("is_current"), methodcaller("counts")


class Step:
    """A compiled step; calling it runs it once.

    Attributes:
        executable: the compiled program.
        binding: the tensors that its inputs and outputs stand for.
        optimizer_steps: the optimizers' steps in it.
        numbers: its run-time numbers.
        summary: its description.
        draws: its draws from generators.
        host_inputs: tensors that are read from the host before each call.
        argument_specs: specs of the tensor arguments.
        checks: operations with a run-time check, and the user's lines that called them.
        guards: the Python values and hooks with which it was recorded.
    """

    def __init__(
        self,
        executable: Executable | EngineExecutable | PipelineExecutable,
        binding: StepBinding,
        captured: CapturedStep,
        summary: StepSummary,
    ) -> None:
        self.executable = executable
        self._name = captured.name
        self.binding = binding
        self.optimizer_steps = list(captured.optimizer_steps)
        self.numbers = list(captured.numbers)
        self.summary = summary
        self.argument_specs = [tensor._value.spec for tensor in captured.arguments]
        self.draws = list(captured.draws)
        self.host_inputs = captured.host_inputs
        self.guards = captured.guards
        self._after_call = captured.after_call
        self.checks = list(captured.checks)
        is_single = isinstance(executable, Executable)
        self._run = runner_for(executable) if is_single else executable
        self._trial = _trial_of(executable, captured.device)
        self._guarded = is_single and executable.guarded
        self._writes = bool(captured.writes)
        self._needs_no_flag = self._guarded or not is_single or not self._writes
        self._device = captured.device
        values = [tensor._value for tensor in binding.variables]
        self._specs = list(map(_SPEC, values))
        # Values are kept only if they take little memory: they live until the next call, whoever
        # replaces them.
        self._keeps_values = sum(spec.nbytes for spec in self._specs) <= _LITTLE
        # The variables' values when they last had the specs and needed the gradients of `build`.
        self._checked: list[Value] = []
        depends_on_gradients = bool(self.optimizer_steps or binding.gradients)
        # For each variable, whether gradients flow into it; None: nothing depends on that.
        self._requires_grad = [v.node is not None for v in values] if depends_on_gradients else None
        attributes = [*binding.attributes, *_guarded_members(binding.guarded_dicts)]
        self._attributes = AttributeGuards(attributes, binding.guarded_dicts)
        self._checks_arguments = bool(
            binding.written
            or binding.written_variables
            or (self.optimizer_steps and _arguments_with_gradient(binding))
        )
        self._failed = False
        self._invalid = invalid_outputs(executable.program)
        # The counts of the optimizers before the latest call.
        self._counts: list[Any] = []
        self._exclusive = [_OF_VALUE] * binding.changed, [_OF_ARRAY] * binding.changed

    def check_guards(self) -> bool:
        """Return true if variables and optimizers are still those that were captured."""
        return (
            not self._failed
            and (self._needs_no_flag or not thread_checks().guards(self._device))
            and self._attributes.hold()
            and self._has_same_variables()
            and (not self.optimizer_steps or all(map(_IS_CURRENT, self.optimizer_steps)))
            and self.guards.find_change() is None
        )

    def _has_same_variables(self) -> bool:
        """Return whether the variables have the specs, and need the gradients, that they had."""
        values = [tensor._value for tensor in self.binding.variables]
        if self._keeps_values and values == self._checked:
            return True
        self._checked = []
        if [value.spec for value in values] != self._specs:
            return False
        needed = self._requires_grad
        if needed is not None and [value.node is not None for value in values] != needed:
            return False
        if self._keeps_values:
            self._checked = values
        return True

    def __call__(self, arguments: Sequence[Tensor], first: bool = False) -> Any:
        """Run the step.

        Args:
            arguments: the tensors of the call.
            first: the optimizers have counted this step already, while it was captured.
        """
        values = self._prepare(arguments)
        binding = self.binding
        argument_arrays = _arrays_of(arguments, binding.arguments)
        arrays = [value.array if value.array is not None else value.read() for value in values]
        shared: list[int] = []
        references = _reference_counts(values, arrays, binding.changed)
        if references != self._exclusive:
            shared = _copy_shared(arrays, references)
        previous, counts = self._counts, None
        positions = [draws.generator.position for draws in self.draws] if self.draws else []
        returned: list[Any] = []
        outputs: list[Any] = []
        try:
            inputs = [*argument_arrays, *arrays, *binding.constants]
            run = self._run if self._trial is None else self._next_run(self._trial)
            failed = self._failed_before(inputs)
            self._counts = counts = list(map(_COUNTS, self.optimizer_steps))
            if self.optimizer_steps or self.draws:
                self._update_numbers(first)
            if SINK.record is not None:
                run = partial(self._run_recorded, run)
            outputs, results = run(inputs, self.numbers, returned, *failed)
            added = self._add_checks(results, outputs)
            if added is not None:
                added.undo.append(partial(self._take_back_counts, counts, previous))
            self._replace_variables(values, outputs, shared)
            return self._distribute(arguments, outputs[binding.changed :], added)
        except BaseException:
            # Variables have given up their old arrays; nothing else of the call is finished.
            if not outputs and returned:
                outputs = self.executable.sorted_results(returned[0])[0]
            self._replace_variables(values, outputs, shared)
            self._replace_write_only(outputs[binding.changed :])
            if all(output is None for output in outputs):
                self._restore_counts(first, counts, positions)
            raise

    def _prepare(self, arguments: Sequence[Tensor]) -> list[Value]:
        """Run pending programs before the step, and bring its tensors up to date.

        Returns:
            The values of the variables.
        """
        if self.host_inputs:
            read_next(self.host_inputs, arguments)
        flush_all("graph")
        binding = self.binding
        if self._checks_arguments:
            check_arguments(arguments, binding, bool(self.optimizer_steps))
        for step in self.optimizer_steps:
            step.synchronize_counts()
        values = [
            tensor._value if tensor._family is None else _leave_family(tensor)
            for tensor in binding.variables
        ]
        # Values and arrays are counted: one list refers to them.
        if self._checked and values == self._checked:
            return self._checked
        self._checked = []
        return values

    def finish(self, optimizers: Sequence[GraphOptimizer]) -> None:
        """Do what follows a call on the host: rows of embeddings, schedules, other steps."""
        updated: list[int] = []
        for after_call in self._after_call:
            updated += map(id, after_call([added.optimizer for added in optimizers]))
        for added in optimizers:
            captured = [step.owner for step in self.optimizer_steps]
            added.finish(captured, id(added.optimizer) in updated)

    def _next_run(self, trial: StepTrial) -> Callable[..., Any]:
        """Return how the step runs this time."""
        run = trial.next_run()
        if trial.is_over:
            self._trial = None
        return run

    def _failed_before(self, inputs: list[Any]) -> tuple[Any, ...]:
        """The flag of failed checks, if the executable takes it; else the checks are waited for.

        Raises:
            Exception: a check has failed.
        """
        checks.inherit(inputs)
        owner = thread_checks()
        is_cold = self._trial is not None and self._trial.is_cold
        if self._guarded and not is_cold:
            return (owner.flag_on(self._device),)
        if (self._writes or self._guarded) and owner:
            owner.raise_failed()
        return ()

    def _add_checks(self, results: CheckResults | None, outputs: list) -> ProgramChecks | None:
        """Remember the checks of a call; return them if they may have failed."""
        if results is not None:
            invalid = [outputs[slot] for slot in self._invalid]
            return checks.add(results, self.checks, self._device, invalid)
        return checks.add_write(self._device) if self._guarded else None

    def _run_recorded(self, run: Callable[..., Any], *arguments: Any) -> tuple[list, Any]:
        """Run the program and record that as an event, until its results are there."""
        results: list[Any] = []
        with span(EventKind.GRAPH, self._name, results):
            outputs, rows = run(*arguments)
            results += outputs
        return outputs, rows

    def _take_back_counts(self, counts: list, previous: list) -> None:
        """Take back what the optimizers counted in the latest call.

        Args:
            counts: the counts before the latest call.
            previous: the counts before the call before that.
        """
        if self._counts is counts:
            self._counts = previous
            for step, before in zip(self.optimizer_steps, counts, strict=True):
                step.restore_counts(before)

    def _restore_counts(self, first: bool, counts: list | None, positions: list) -> None:
        """Restore step counts, if there are any yet, and generators after a call that failed."""
        for draws, position in zip(self.draws, positions, strict=True):
            draws.generator.position = position
        if first:  # the next call captures the step again
            self._failed = True
            for step in self.optimizer_steps:
                step.undo()
        elif counts is not None:
            for step, before in zip(self.optimizer_steps, counts, strict=True):
                step.restore_counts(before)

    def _replace_variables(self, values: list[Value], outputs: list, shared: list[int]) -> None:
        """Give the variables that are read their new arrays.

        Args:
            values: the variables' values.
            outputs: the outputs of the program; None where a pipeline failed before it was there.
            shared: indices of variables whose old arrays others keep.
        """
        changed = outputs[: self.binding.changed]
        if shared:
            self._replace_shared(values, changed, shared)
            return
        for value, array in zip(values, changed, strict=False):
            if array is not None:
                value.array = array

    def _replace_write_only(self, arrays: list) -> None:
        """Write to the variables that are not read; `arrays` may have more at the end."""
        for tensor, array in zip(self.binding.write_only, arrays, strict=False):
            if array is not None:
                _write(tensor, array)

    def _replace_shared(self, values: list[Value], arrays: list, shared: list[int]) -> None:
        """Replace the variables' arrays; others keep the old ones of those in `shared`."""
        others = set(shared)
        for index, array in enumerate(arrays):
            if array is None:
                continue
            if index in others:
                _write(self.binding.variables[index], array)
            else:
                values[index].array = array

    def _distribute(
        self, arguments: Sequence[Tensor], outputs: list, added: ProgramChecks | None
    ) -> Any:
        """Give the outputs after the new values of variables that are read to their tensors.

        Args:
            arguments: the tensors of the call.
            outputs: these outputs.
            added: the run-time checks of the call, if there are any.

        Returns:
            The results of the step.
        """
        binding = self.binding
        if binding.write_only:
            self._replace_write_only(outputs)
        arrays = iter(outputs[len(binding.write_only) :])
        for index in binding.written:
            _write(arguments[index], next(arrays))
        for owner, sbp in binding.gradients:
            tensor = arguments[owner] if isinstance(owner, int) else owner
            old = tensor._grad
            with no_grad():
                spec = tensor._value.spec if sbp is None else with_sbp(tensor._value.spec, sbp)
                add_gradient(tensor, Value(spec, next(arrays)))
            new = tensor._grad
            if added is not None and new is not None and new is not old:
                added.undo.append(partial(restore_gradient, ref(tensor), ref(new), old))
        results = []
        for source in binding.results:
            if isinstance(source, TensorSpec):
                result = Value(source, next(arrays))
                if MODE.inference:
                    result.stale = INFERENCE
                results.append(wrap(result))
            else:
                results.append(arguments[source] if isinstance(source, int) else source)
        return tree_unflatten(binding.structure, iter(results))

    def _update_numbers(self, first: bool) -> None:
        """Write the numbers that differ from call to call."""
        if not first:
            for step in self.optimizer_steps:
                step.update_numbers(self.numbers)
        for draws in self.draws:
            draws.update_numbers(self.numbers)


def _guarded_members(dicts: Iterable[dict[Any, Any]]) -> Iterator[Attribute]:
    """The entries of modules' dicts that are None or hooks, and must stay what they are."""
    for owner in dicts:
        for key, member in owner.items():
            if member is None or isinstance(owner, Hooks):
                yield owner, key, member


def _trial_of(executable: Any, device: Any) -> StepTrial | None:
    """The trial of a step; None if it always runs as a whole."""
    may_run_cold = isinstance(executable, Executable) and device is CPU
    return StepTrial(executable) if may_run_cold else None


def _arrays_of(tensors: Sequence[Tensor], indices: Iterable[int]) -> list[Any]:
    """The arrays of some of the tensors, computed if they are not there yet."""
    arrays = []
    for index in indices:
        tensor = tensors[index]
        value = tensor._value if tensor._family is None else unwrap(tensor)
        arrays.append(value.array if value.array is not None else value.read())
    return arrays


def check_arguments(arguments: Sequence[Tensor], binding: StepBinding, is_trained: bool) -> None:
    """Refuse arguments that share memory which a step writes to, or gradients that it uses.

    Args:
        arguments: the tensors of the call.
        binding: the tensors of the step.
        is_trained: optimizers step in it.

    Raises:
        RuntimeError: an argument that is written to shares memory with another one or a variable;
            or one shares memory with a variable that `build` writes to; or one that gets a gradient
            is a variable, which an optimizer would step without that gradient.
    """
    with_gradient = _arguments_with_gradient(binding) if is_trained else set()
    for index, tensor in enumerate(arguments):
        if index in with_gradient and id(tensor) in binding.names:
            raise RuntimeError(
                f"tensor argument {index} is `{binding.names[id(tensor)]}` of the graph, and "
                "optimizers would not see the gradient that it gets as an argument; use the "
                "module's own tensor in `build`, or give the graph its detach()"
            )
        if index in binding.written:
            others = [*arguments[:index], *arguments[index + 1 :]]
            others += [*binding.variables, *binding.write_only]
            if any(map(partial(_overlap, tensor), others)):
                raise RuntimeError(
                    f"`build` writes to tensor argument {index}, which shares memory with another "
                    "argument or with a tensor of the graph's modules; give the graph a clone"
                )
        if tensor._family is None and id(tensor) not in binding.written_variables:
            continue
        for number, variable in binding.written_variables.items():
            if _overlap(tensor, variable):
                raise RuntimeError(
                    f"`build` writes to `{binding.names[number]}`, with which tensor argument "
                    f"{index} shares memory; give the graph a clone"
                )


def _arguments_with_gradient(binding: StepBinding) -> set[int]:
    """The indices of the tensor arguments that get gradients."""
    return {owner for owner, _ in binding.gradients if isinstance(owner, int)}


def _overlap(one: Tensor, other: Tensor) -> bool:
    """Return true if two tensors have elements in common, or are the same."""
    first, second = one._family, other._family
    if first is None or second is None or first.storage is not second.storage:
        return one is other
    return share_elements(one, other)


def _write(tensor: Tensor, array: Any) -> None:
    """Replace the content of a tensor, for all that share its memory."""
    with no_grad():
        write(tensor, Value(tensor._value.spec, array))


def _leave_family(tensor: Tensor) -> Value:
    """Bring a tensor with shared memory up to date, and unshare it if no other tensor is left.

    Returns:
        Its value.
    """
    value = tensor._value = unwrap(tensor)
    if is_exclusive(tensor) and not tensor._chain and not tensor._family.root_views():
        tensor._writes = tensor._family.writes[0]
        del tensor._family
    return value
