"""Capture: from a call of `build` to a `CapturedStep`, the first stage of compiling a graph."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from oneflow.amp.grad_scaler import StaticGradScaler
from oneflow.base.placement import Placement
from oneflow.differentiation.grad_mode import MODE, no_grad
from oneflow.graph.block import Blocks
from oneflow.graph.capture_scope import CaptureScope
from oneflow.graph.captured_step import (
    CapturedStep,
    GeneratorUse,
    StepInput,
    StepOutputs,
    StepSummary,
)
from oneflow.graph.capturing_recorder import OtherDeviceError
from oneflow.graph.external_writes import ExternalWriteError
from oneflow.graph.graph_config import GraphConfig
from oneflow.graph.guards import Guards
from oneflow.graph.micro_batches import MicroBatches
from oneflow.graph.module_tracer import ModuleTracer
from oneflow.graph.optimizer_steps import GraphOptimizer, OptimizerStep, parameters_of
from oneflow.graph.pytree import describe_tensor, tree_flatten, tree_unflatten
from oneflow.graph.verbosity import QUIET, Verbosity
from oneflow.graph.zero import apply_zero
from oneflow.module.module import Module
from oneflow.passes.partition import BACKWARD, FORWARD, UPDATE, Phase
from oneflow.primitives.operators.elementwise import cast, mul
from oneflow.program.captured_number import with_shared_draws
from oneflow.program.ir import Program, program_from_key
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.global_values import on_placement
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


@dataclass
class CaptureSettings:
    """The options that decide how a graph is captured and compiled.

    Attributes:
        config: options of the graph.
        blocks: its modules' blocks, with their options.
        scaler: gradient scaler.
        verbosity: the amount printed meanwhile.
    """

    config: GraphConfig
    blocks: Blocks
    verbosity: Verbosity = QUIET
    scaler: StaticGradScaler | None = None


class Capturable(Protocol):
    """A graph, as capture sees it.

    Attributes:
        default_device: the device, or placement, of a step without parameters and arguments.
    """

    default_device: Any
    _constant_hint: str  # what to do about tensors that belong to no module
    _body: str  # what errors call the function that is recorded

    @property
    def name(self) -> str:
        """The graph's name."""
        ...

    def named_modules(self) -> Sequence[tuple[str, Module]]:
        """The modules assigned to the graph."""
        ...

    def graph_attributes(self) -> dict[str, Any]:
        """The dict with the graph's own attributes."""
        ...

    def guards(self) -> Guards:
        """The Python values that its modules and the graph have as attributes."""
        ...

    def added_optimizers(self) -> Sequence[GraphOptimizer]:
        """The optimizers added to the graph."""
        ...

    @property
    def settings(self) -> CaptureSettings:
        """Its other options."""
        ...


@contextlib.contextmanager
def captured_step(
    graph: Capturable, build: Callable[..., Any], called: Any, arguments: Sequence[Tensor]
) -> Iterator[CapturedStep]:
    """Context manager: one call of `build`, with the backward pass and the optimizers' steps.

    On an error within it optimizers and the gradient scaler are as before. If `build` writes to
    tensors from outside, it is recorded once more with these as variables; if nothing tells where
    the step runs, and it makes tensors on a placement, once more on that.

    Args:
        graph: the graph.
        build: the function to record.
        called: structure of its positional and keyword arguments.
        arguments: the tensors in them.

    Raises:
        RuntimeError: the step cannot be captured; the message says why. Tensors and modules are as
            before.
    """
    argument_device = _device_of(graph, arguments)
    device = graph.default_device if argument_device is None else argument_device
    outside: Sequence[Tensor] = ()
    step: CapturedStep | None = None
    with contextlib.ExitStack() as stack:
        while step is None:
            scope = CaptureScope(graph.name, graph._body, device, graph.settings.scaler, outside)
            try:
                step = _captured_in(scope, graph, build, called, arguments, stack)
            except ExternalWriteError as error:
                if outside or not error.tensors:
                    raise
                outside = error.tensors
            except OtherDeviceError as error:
                if argument_device is not None or not isinstance(error.device, Placement):
                    raise
                argument_device = device = error.device
        yield step


def _captured_in(
    scope: CaptureScope,
    graph: Capturable,
    build: Callable[..., Any],
    called: Any,
    arguments: Sequence[Tensor],
    stack: contextlib.ExitStack,
) -> CapturedStep:
    """Capture in a scope, which `stack` holds from then on."""
    config = graph.settings.config
    with contextlib.ExitStack() as attempt:
        attempt.enter_context(scope.restore_on_error())
        if config.zero_stage:
            optimizers = [added.optimizer for added in graph.added_optimizers()]
            apply_zero(optimizers, config.zero_stage, config.zero_min_size)
        with scope.capturing():
            step = _Capture(graph, build, called, arguments, scope).run()
        stack.push(attempt.pop_all())
    return step


class _Capture:
    """One capture; see `captured_step` for its arguments."""

    def __init__(
        self,
        graph: Capturable,
        build: Callable[..., Any],
        called: Any,
        arguments: Sequence[Tensor],
        scope: CaptureScope,
    ) -> None:
        self._graph = graph
        self._function = build
        self._called = called
        self._arguments = arguments
        self._scope = scope
        self._guards = graph.guards()
        self._recorder = scope.recorder
        self._variables = scope.variables
        self._placeholders = [self._placeholder(tensor) for tensor in arguments]
        self._tracer = ModuleTracer(
            graph.named_modules(), graph.settings.blocks, self._recorder, graph.settings.verbosity
        )
        # Parameters of optimizers that belong to no module of the graph, by name.
        self._external_tensors: dict[str, Tensor] = {}
        self._micro_batch = 0
        self._went_backward = False

    def run(self) -> CapturedStep:
        """Call `build`, and the optimizers."""
        self._variables.add_modules(self._graph.named_modules())
        self._variables.add_attributes(self._graph.graph_attributes(), "", "tensor")
        self._add_optimized_tensors()
        for number, tensor in enumerate(self._scope.outside):
            name = f"outside.{number}"
            self._variables.add(name, "tensor", tensor, {}, name)
        result = self._call_build()
        results: list[Tensor] = []
        structure = tree_flatten(result, results, f"the result of {self._graph.name}.build")
        if self._recorder.outsider is not None:
            warnings.warn(
                f"{self._graph.name}: {self._graph._body} used a tensor that requires grad but "
                f"belongs to no module of the graph{self._recorder.outsider}; its present value "
                f"becomes a constant and it gets no gradients. {self._graph._constant_hint}",
                stacklevel=6,
            )
        self._variables.note_writes()
        self._record_optimizer_steps()
        self._guards.keep([variable.tensor for variable in self._variables])
        return self._captured(structure, results)

    # --- recording

    def _placeholder(self, tensor: Tensor) -> Tensor:
        """A tensor that takes the place of an argument in `build`."""
        placeholder = wrap(self._recorder.new_input(unwrap(tensor).spec))
        return placeholder.requires_grad_(tensor.requires_grad and tensor.is_leaf)

    def _add_optimized_tensors(self) -> None:
        """Add parameters of modules that are no attributes of the graph.

        Raises:
            ValueError: two optimizers hold a parameter; each call would update it twice.
        """
        optimizer_of: dict[int, int] = {}
        for index, added in enumerate(self._graph.added_optimizers()):
            for number, tensor in enumerate(parameters_of(added.optimizer)):
                name = f"optimizer{index}.params.{number}"
                if id(tensor) not in self._variables.by_tensor:
                    self._external_tensors[name] = tensor
                self._variables.add(name, "parameter", tensor, {}, name)
                first = optimizer_of.setdefault(id(tensor), index)
                if first != index and tensor.requires_grad:
                    raise ValueError(
                        f"{self._graph.name}: optimizers {first} and {index} both hold "
                        f"`{self._variables.by_tensor[id(tensor)].name}`, which each call would "
                        "update twice; give every parameter to one optimizer of the graph"
                    )

    def _call_build(self) -> Any:
        """Call `build`, once or for every micro batch."""
        config = self._graph.settings.config
        training = bool(self._graph.added_optimizers())
        count = config.gradient_accumulation_steps if training else 1
        change_start = self._change_of_start(count)
        with self._scope.build_context(
            self._tracer, MODE.enabled or training, config.amp_dtype, change_start
        ):
            if count == 1:
                return self._build_micro_batch(0, self._placeholders)
            batches = MicroBatches(self._placeholders, count)
            results = [self._build_micro_batch(i, batch) for i, batch in enumerate(list(batches))]
            return batches.concat(results)

    def _build_micro_batch(self, number: int, tensors: list[Tensor]) -> Any:
        """Record the forward and backward pass of one micro batch."""
        self._recorder.begin(Phase(FORWARD, number))
        self._micro_batch = number
        args, kwargs = tree_unflatten(self._called, iter(tensors))
        result = self._function(*args, **kwargs)
        self._recorder.begin(Phase(UPDATE))
        return result

    def _change_of_start(self, count: int) -> Callable[[Value], Value]:
        """The function that scales the gradient with which `backward` starts."""
        scaler = self._graph.settings.scaler
        scale = None
        if scaler is not None:
            device: Any = self._recorder.device
            tensors, members = scaler.tensors(device), vars(scaler)
            for name, tensor in tensors.items():
                self._variables.add(f"grad_scaler.{name}", "state", tensor, members, name)
            self._variables.attributes += [(members, *member) for member in members.items()]
            scale = tensors["_scale"]

        def change(gradient: Value) -> Value:
            if MODE.anomaly:
                raise RuntimeError(
                    f"{self._graph.name}: anomaly mode reads every gradient, and while a graph is "
                    "recorded nothing has a value; look for the NaN in eager mode, or turn "
                    "`set_detect_anomaly` off around the graph"
                )
            self._went_backward = True
            self._recorder.begin(Phase(BACKWARD, self._micro_batch))
            if count > 1:
                gradient = mul(gradient, 1.0 / count)
            if scale is not None:
                factor = on_placement(unwrap(scale), gradient.spec.device)
                gradient = mul(gradient, cast(factor, dtype=gradient.spec.dtype))
            return gradient

        return change

    def _record_optimizer_steps(self) -> None:
        """Record the optimizers' steps.

        Raises:
            RuntimeError: there are no gradients, or the gradient scaler cannot work with an
                optimizer.
            ValueError: a parameter of an optimizer is no part of the graph.
        """
        scaler, steps = self._graph.settings.scaler, self._scope.optimizer_steps
        optimizers = self._graph.added_optimizers()
        if (
            optimizers
            and not self._went_backward
            and not any(added.has_gradients() for added in optimizers)
        ):
            raise RuntimeError(
                f"{self._graph.name}: an optimizer was added, but `build` makes no gradients, so "
                "it would never step; call `backward()` on the loss in `build`, or make a graph "
                "without `add_optimizer` for inference"
            )
        self._check_external_tensors()
        for index, added in enumerate(optimizers):
            if not added.has_gradients():
                continue
            if added.optimizer.steps_by_update:
                step = OptimizerStep(added)
                steps.append(step)
                step.record(self._recorder, self._variables, f"optimizer{index}", scaler)
            elif scaler is not None:
                raise RuntimeError(
                    f"{self._graph.name}: a gradient scaler needs optimizers that update by one "
                    f"rule and have no hooks; {type(added.optimizer).__name__} steps on its own"
                )
        if scaler is not None and steps:
            scaler.update()

    def _check_external_tensors(self) -> None:
        """Check that what optimizers hold is what `build` trains.

        A parameter that belongs to no module of the graph and gets no gradient does no harm beside
        others that are trained: it may be what a module has had before.
        """
        external = [
            f"`{name}` of shape {list(tensor.shape)}"
            for name, tensor in self._external_tensors.items()
            if tensor.requires_grad and tensor.grad is None
        ]
        if not external:
            return
        optimizers = self._graph.added_optimizers()
        optimized = {
            id(parameter) for one in optimizers for parameter in parameters_of(one.optimizer)
        }
        missing = [
            f"`{variable.name}`"
            for variable in self._variables
            if variable.kind == "parameter"
            and variable.tensor.grad is not None
            and id(variable.tensor) not in optimized
        ]
        if missing or not all(optimizer.has_gradients() for optimizer in optimizers):
            raise ValueError(
                f"{self._graph.name}: an optimizer holds {', '.join(external[:3])}, which belongs "
                "to no module of the graph and gets no gradient from `build`, and no optimizer "
                f"holds {', '.join(missing[:3]) or 'what gets gradients'}; make optimizers of "
                "the parameters that the graph's modules have now"
            )

    # --- the captured step

    def _captured(self, structure: Any, results: list[Tensor]) -> CapturedStep:
        """Return the recorded step. The outputs may need instructions of their own."""
        recorder, variables, steps = self._recorder, self._variables, self._scope.optimizer_steps
        updates, written = variables.updates(), self._written_arguments()
        gradients = self._gradients(set().union(*(step.tensors for step in steps)))
        aliases: dict[int, Any] = {id(tensor): i for i, tensor in enumerate(self._placeholders)}
        aliases |= {id(v.tensor): v.tensor for v in variables if not v.is_assigned}
        returned = tuple([aliases.get(id(result), result._value.spec) for result in results])
        values = [value for _, value in (*updates, *written, *gradients)]
        values += [unwrap(result) for result in results if id(result) not in aliases]
        outputs = [recorder.reference(value) for value in values]
        program = program_from_key(recorder.key, outputs, dict(enumerate(recorder.specs)))
        assigned = [(recorder.reference(new), ~variable.input) for variable, new in updates]
        first, (draws, dynamic) = len(program.inputs) + len(program.scalars), self._draws()
        return CapturedStep(
            name=self._graph.name,
            device=recorder.device,
            program=self._scoped(with_shared_draws(program, recorder.scalars), first),
            inputs=self._inputs(),
            updates=tuple([variable.input for variable, _ in updates]),
            outputs=StepOutputs(
                tuple([index for index, _ in written]),
                tuple([(owner, value.spec.sbp) for owner, value in gradients]),
                returned,
                structure,
            ),
            called=self._called,
            arguments=tuple(self._arguments),
            attributes=tuple(variables.attributes),
            guarded_dicts=tuple(variables.guarded_dicts),
            guards=self._guards,
            numbers=tuple(recorder.scalars),
            dynamic_numbers=dynamic.union(*(step.slots() for step in steps)),
            draws=draws,
            host_inputs=tuple(self._scope.host_inputs.inputs),
            after_call=tuple(self._scope.host_inputs.after_call.values()),
            optimizer_steps=tuple(steps),
            checks=tuple(recorder.checked),
            phases={
                instruction.results.start: recorder.phase_of(instruction.results.start - first)
                for instruction in program.instructions
            },
            writes=tuple(recorder.written_in(program, assigned)),
            guarded=recorder.guarded,
            pinned=frozenset([first + position for position in recorder.pinned]),
            summary=StepSummary(
                list(map(describe_tensor, self._arguments)),
                list(map(describe_tensor, results)),
                self._tracer.tensors,
            ),
        )

    def _written_arguments(self) -> list[tuple[int, Value]]:
        """The indices of arguments that `build` wrote to, and their new contents."""
        contents = [
            (index, unwrap(placeholder)) for index, placeholder in enumerate(self._placeholders)
        ]
        return [
            (index, value)
            for index, value in contents
            if value.recorder is not self._recorder or value.position != ~index
        ]

    def _gradients(self, updated: Collection[int]) -> list[tuple[Tensor | int, Value]]:
        """The gradients that no optimizer used, and the tensors, or arguments, that get them."""
        gradients: list[tuple[Tensor | int, Value]] = [*self._variables.gradients(updated)]
        for index, tensor in enumerate(self._placeholders):
            if tensor.grad is not None:
                gradients.append((index, unwrap(tensor.grad)))
        for host_input in self._scope.host_inputs.inputs:
            gradient = host_input.placeholder.grad
            if gradient is not None:
                gradients.append((host_input.tensor, self._row_gradient(gradient)))
        return gradients

    def _row_gradient(self, gradient: Tensor) -> Value:
        """The gradient of rows of an embedding, which are updated on the host after the call."""
        scaler = self._graph.settings.scaler
        if scaler is None:
            return unwrap(gradient)
        if scaler.may_skip():
            raise RuntimeError(
                f"{self._graph.name}: rows of embeddings are updated on the host, where no step is "
                "skipped; give `set_grad_scaler` a `StaticGradScaler` instead of a `GradScaler`"
            )
        with no_grad():
            return unwrap(scaler.unscale_gradient(gradient))

    def _inputs(self) -> tuple[StepInput, ...]:
        """The inputs of the program, in order."""
        inputs = {
            index: StepInput("argument", f"argument {index}", index)
            for index in range(len(self._arguments))
        }
        for one in self._variables:
            inputs[one.input] = StepInput(one.kind, one.name, one.tensor, one.is_written)
        for number, host_input in enumerate(self._scope.host_inputs.inputs):
            inputs[~host_input.captured.position] = StepInput(
                "tensor", f"reader.{number}", host_input.tensor
            )
        constants = 0
        for number, array in enumerate(self._recorder.arrays):
            if array is not None:
                inputs[number] = StepInput("constant", f"constant {constants}", array)
                constants += 1
        return tuple([inputs[number] for number in range(len(inputs))])

    def _scoped(self, program: Program, first: int) -> Program:
        """The program with the module's path in every instruction."""
        scope = self._tracer.scope_of
        instructions = tuple(
            replace(instruction, scope=scope(instruction.results.start - first))
            for instruction in program.instructions
        )
        return replace(program, instructions=instructions)

    def _draws(self) -> tuple[tuple[GeneratorUse, ...], frozenset[int]]:
        """The draws from each generator, and the indices of the numbers they fill in."""
        capture = self._scope.draws
        captured = capture.find(self._recorder.scalars)
        draws = []
        for index, (generator, count, end) in enumerate(capture.draw_counts()):
            numbers = [(position, number) for position, which, number in captured if which == index]
            seeds = tuple([(n, use.ranks) for n, use in numbers if use.draw is None])
            streams = tuple([(n, use.draw) for n, use in numbers if use.draw is not None])
            draws.append(GeneratorUse(generator, count, end, seeds, streams))
        return tuple(draws), frozenset([number for number, _, _ in captured])


def _device_of(graph: Capturable, arguments: Sequence[Tensor]) -> Any:
    """The device, or placement, of the first parameter, buffer or argument; None without one."""
    for _, module in graph.named_modules():
        for tensor in (*module.parameters(), *module.buffers()):
            return tensor.device
    for tensor in arguments:
        return tensor.device
    return None
