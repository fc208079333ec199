"""`Recording`: from a call of `build` to a compiled `Step`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol

from oneflow.amp.autocast import autocast
from oneflow.amp.grad_scaler import StaticGradScaler
from oneflow.autograd.gradients import transforming_initial_gradient
from oneflow.base.device import CPU, Device
from oneflow.base.placement import Placement
from oneflow.base.sbp import NdSbp
from oneflow.base.spec import TensorSpec
from oneflow.compiler.lower import Executable
from oneflow.differentiation.grad_mode import MODE, set_grad_enabled
from oneflow.graph.agreement import compare_programs
from oneflow.graph.auto_parallel import lay_out_program, move_tensors
from oneflow.graph.block import Blocks
from oneflow.graph.graph_config import GraphConfig
from oneflow.graph.micro_batches import MicroBatches
from oneflow.graph.observing import Observation
from oneflow.graph.optimizing import RecordedStep, Training, parameters_of
from oneflow.graph.overwriting import Overwritten
from oneflow.graph.pipeline import Pipeline
from oneflow.graph.recorder import CapturingRecorder, capturing
from oneflow.graph.schedule_drawing import schedule_text
from oneflow.graph.step import Binding, Draws, Report, Step, refuse_overlaps
from oneflow.graph.structure import describe_tensor, put_together, take_apart
from oneflow.graph.variables import Variables
from oneflow.graph.verbosity import QUIET, Verbosity
from oneflow.graph.zero import apply_zero
from oneflow.module.module import Module
from oneflow.passes.dead_code import eliminate_dead_code
from oneflow.passes.dumping import dump_for
from oneflow.passes.inputs import inputs_read, with_inputs
from oneflow.passes.pipeline import (
    AUTO_PARALLEL,
    REGATHER,
    SPARSE_UPDATES,
    optimize,
    run_passes,
)
from oneflow.passes.regather import regather
from oneflow.passes.sparse_updates import update_looked_up_rows
from oneflow.passes.tasks import BACKWARD, FORWARD, UPDATE, Turn
from oneflow.primitives.operators.elementwise import cast, mul
from oneflow.program.ir import Program, program_from_key
from oneflow.program.value import Value
from oneflow.random.generator import DrawMarks, marking_draws
from oneflow.tensor.call import wrap
from oneflow.tensor.global_values import on_placement
from oneflow.tensor.tensor import Tensor


class Recordable(Protocol):
    """What is asked of a graph while it is recorded."""

    @property
    def name(self) -> str:
        """The graph's name."""
        ...

    def named_modules(self) -> Sequence[tuple[str, Module]]:
        """The modules assigned to the graph."""
        ...

    def own_tensors(self) -> dict[str, Any]:
        """The dict with the graph's own attributes."""
        ...

    def trainings(self) -> Sequence[Training]:
        """The optimizers added to the graph."""
        ...

    @property
    def settings(self) -> Settings:
        """Everything else that was set."""
        ...


@dataclass
class Settings:
    """What decides how a graph is recorded and compiled.

    Attributes:
        config: options of the graph.
        blocks: its modules' blocks, with their options.
        scaler: gradient scaler.
        verbosity: what is printed meanwhile.
    """

    config: GraphConfig
    blocks: Blocks
    verbosity: Verbosity = QUIET
    scaler: StaticGradScaler | None = None


class Recording:
    """One recording of a graph's step.

    Args:
        graph: the graph.
        build: what to record.
        called: structure of its positional and keyword arguments.
        arguments: the tensors in them.
    """

    def __init__(
        self,
        graph: Recordable,
        build: Callable[..., Any],
        called: Any,
        arguments: list[Tensor],
    ) -> None:
        self._graph = graph
        self._function = build
        self._called = called
        self._arguments = arguments
        self._device = _device_of(graph, arguments)
        self._recorder = CapturingRecorder(self._device, graph.name)
        self._variables = Variables(self._recorder)
        self._steps: list[RecordedStep] = []
        self._stand_ins: list[Tensor] = []
        self._marks = DrawMarks()
        self._observation: Observation | None = None
        self._batch = 0
        self._went_backward = False
        self._turns: list[Turn] | None = None
        self._moves: Sequence[tuple[Tensor, NdSbp]] = ()
        self._watch = dump_for(graph.name)
        self._report = Report([describe_tensor(each) for each in arguments])

    def run(self) -> Step:
        """Record and compile; on an error everything is as it was before."""
        config = self._graph.settings.config
        if config.zero_stage:
            optimizers = [each.optimizer for each in self._graph.trainings()]
            apply_zero(optimizers, config.zero_stage, config.zero_least)
        try:
            binding, outputs = self._recorded()
            return self._compile(binding, outputs)
        except BaseException:
            for step in self._steps:
                step.undo()
            if self._graph.settings.scaler is not None:
                self._graph.settings.scaler.forget()
            raise

    def _recorded(self) -> tuple[Binding, list[int]]:
        """Record, and give every tensor its value back."""
        overwritten = Overwritten(self._recorder)
        try:
            with capturing(self._recorder), marking_draws() as self._marks, overwritten:
                parts = self._record()
        finally:
            self._variables.restore()
            line = overwritten.put_back()
        if line is not None:
            raise RuntimeError(
                f"{self._graph.name}: `build` wrote to a tensor{line} that is no argument and "
                "belongs to no module of the graph, so it would not change in later calls. Assign "
                "the tensor, or the module whose buffer it is, to an attribute of the graph"
            )
        return parts

    def _record(self) -> tuple[Binding, list[int]]:
        """Call `build`, and the optimizers; what to bind, and references to the outputs."""
        self._stand_ins = [self._stand_in(tensor) for tensor in self._arguments]
        self._variables.add_modules(self._graph.named_modules())
        self._variables.add_members(self._graph.own_tensors(), "", "tensor")
        self._add_optimized_tensors()
        result = self._record_build()
        results: list[Tensor] = []
        structure = take_apart(result, results, f"the result of {self._graph.name}.build")
        if self._recorder.outsider is not None:
            warnings.warn(
                f"{self._graph.name}: `build` used a tensor that requires grad but belongs to no "
                f"module of the graph{self._recorder.outsider}; its present value becomes a "
                "constant and it gets no gradients. Assign its module, or the tensor, to an "
                "attribute of the graph",
                stacklevel=6,
            )
        self._record_steps()
        self._report.results = [describe_tensor(each) for each in results]
        return self._bind(structure, results)

    def _record_build(self) -> Any:
        """Call `build`, once or for every micro batch."""
        graph, settings = self._graph, self._graph.settings
        trains = bool(graph.trainings())
        count = settings.config.gradient_accumulation_steps if trains else 1
        observation = Observation(
            graph.named_modules(), settings.blocks, self._recorder, settings.verbosity
        )
        self._observation = observation
        half = settings.config.amp_dtype
        half_precision = autocast(self._device.type, half) if half else nullcontext()
        start = transforming_initial_gradient(self._starting_change(count))
        with set_grad_enabled(MODE.enabled or trains), observation, half_precision, start:
            if count == 1:
                return self._build_in_turn(0, self._stand_ins)
            batches = MicroBatches(self._stand_ins, count)
            results = [self._build_in_turn(i, each) for i, each in enumerate(list(batches))]
            return batches.joined(results)

    def _build_in_turn(self, batch: int, tensors: list[Tensor]) -> Any:
        """Record what is to be done with one micro batch."""
        self._recorder.begin(Turn(FORWARD, batch))
        self._batch = batch
        result = self._build(tensors)
        self._recorder.begin(Turn(UPDATE))
        return result

    def _build(self, tensors: list[Tensor]) -> Any:
        """Call `build` with these tensors in its arguments."""
        args, kwargs = put_together(self._called, iter(tensors))
        return self._function(*args, **kwargs)

    def _starting_change(self, count: int) -> Callable[[Value], Value]:
        """What `backward` multiplies the gradient by that it starts with."""
        scaler = self._graph.settings.scaler
        scale = None
        if scaler is not None:
            for name, tensor in scaler.tensors(self._device).items():
                self._variables.add(f"grad_scaler.{name}", "state", tensor, (vars(scaler), name))
            self._variables.bindings += [(vars(scaler), *each) for each in vars(scaler).items()]
            scale = scaler.tensors(self._device)["_scale"]

        def change(gradient: Value) -> Value:
            if MODE.anomaly:
                raise RuntimeError(
                    f"{self._graph.name}: anomaly mode reads every gradient, and while a graph is "
                    "recorded nothing has a value; look for the NaN in eager mode, or turn "
                    "`set_detect_anomaly` off around the graph"
                )
            self._went_backward = True
            self._recorder.begin(Turn(BACKWARD, self._batch))
            if count > 1:
                gradient = mul(gradient, 1.0 / count)
            if scale is not None:
                factor = on_placement(scale.value, gradient.spec.device)
                gradient = mul(gradient, cast(factor, dtype=gradient.spec.dtype))
            return gradient

        return change

    def _record_steps(self) -> None:
        """Record the optimizers' steps.

        Raises:
            RuntimeError: there is nothing for them to do, or not what they are wanted for.
        """
        scaler = self._graph.settings.scaler
        trainings = self._graph.trainings()
        if not self._went_backward and trainings and not any(t.has_gradients() for t in trainings):
            raise RuntimeError(
                f"{self._graph.name}: an optimizer was added, but `build` makes no gradients, so "
                "it would never step; call `backward()` on the loss in `build`, or make a graph "
                "without `add_optimizer` for inference"
            )
        for index, training in enumerate(trainings):
            if not training.has_gradients():
                continue
            if training.optimizer.steps_by_update:
                step = RecordedStep(training)
                self._steps.append(step)
                step.record(self._recorder, self._variables, f"optimizer{index}", scaler)
            elif scaler is not None:
                raise RuntimeError(
                    f"{self._graph.name}: a gradient scaler needs optimizers that update by one "
                    f"rule and have no hooks; {type(training.optimizer).__name__} steps on its own"
                )
        if scaler is not None and self._steps:
            scaler.update()

    def _stand_in(self, tensor: Tensor) -> Tensor:
        """A tensor that takes the place of an argument in `build`."""
        stand_in = wrap(self._recorder.new_input(tensor.value.spec))
        return stand_in.requires_grad_(tensor.requires_grad and tensor.is_leaf)

    def _add_optimized_tensors(self) -> None:
        """Parameters may belong to modules that are no attributes of the graph."""
        for index, training in enumerate(self._graph.trainings()):
            for place, tensor in enumerate(parameters_of(training.optimizer)):
                name = f"optimizer{index}.params.{place}"
                self._variables.add(name, "parameter", tensor, ({}, name))

    def _bind(self, structure: Any, results: list[Tensor]) -> tuple[Binding, list[int]]:
        """Work out what the outputs are. They may need instructions of their own."""
        refer = self._recorder.reference
        updates = self._variables.updates()
        written, new_contents = self._written_arguments()
        updated = set().union(*(step.tensors for step in self._steps))
        gradients: list[tuple[Tensor | int, Value]] = [*self._variables.gradients(updated)]
        for place, tensor in enumerate(self._stand_ins):
            if tensor.grad is not None:
                gradients.append((place, tensor.grad.value))
        known: dict[int, Tensor | int] = {id(each): i for i, each in enumerate(self._stand_ins)}
        known.update({id(each.tensor): each.tensor for each in self._variables})
        shown = [known.get(id(each), each._value.spec) for each in results]
        binding = Binding(
            arguments=[],
            variables=[],
            changed=0,
            unread=[each.tensor for each, _ in updates],
            constants=[],
            written=written,
            gradients=[owner for owner, _ in gradients],
            results=shown,
            structure=structure,
            called=self._called,
            names={id(each.tensor): each.name for each in self._variables},
            members=self._variables.bindings,
            registries=self._variables.registries,
        )
        values = [value for _, value in updates] + new_contents
        values += [value for _, value in gradients]
        values += [
            each.value
            for each, how in zip(results, shown, strict=True)
            if isinstance(how, TensorSpec)
        ]
        return binding, [refer(value) for value in values]

    def _written_arguments(self) -> tuple[list[int], list[Value]]:
        """Arguments that `build` wrote to, and their new contents."""
        places, values = [], []
        for place, stand_in in enumerate(self._stand_ins):
            value = stand_in.value
            if value.trace is not self._recorder or value.position != ~place:
                places.append(place)
                values.append(value)
        return places, values

    def _compile(self, binding: Binding, outputs: list[int]) -> Step:
        """Optimise and compile what was recorded."""
        recorder = self._recorder
        program = self._scoped(program_from_key(recorder.key, outputs, recorder.specs))
        program = self._laid_out(self._regathered(program), binding.unread)
        program = self._with_sparse_updates(program)
        if len(program.devices) > 1:
            # Each task is optimised on its own.
            program = eliminate_dead_code(program)
            self._turns = self._turns_of(program)
        else:
            program = optimize(program, self._watch)
        read = inputs_read(program)
        updated = binding.unread
        places = {id(each.tensor): ~each.value.position for each in self._variables}
        # Updated variables that are read come first, among the inputs and among the outputs.
        order = sorted(range(len(updated)), key=lambda i: places[id(updated[i])] not in read)
        binding.changed = sum(places[id(each)] in read for each in updated)
        binding.variables = [updated[i] for i in order[: binding.changed]]
        binding.unread = [updated[i] for i in order[binding.changed :]]
        chosen = {id(each) for each in updated}
        binding.variables += [
            each.tensor
            for each in self._variables
            if id(each.tensor) not in chosen and places[id(each.tensor)] in read
        ]
        binding.arguments = [place for place in range(len(self._arguments)) if place in read]
        constants = [number for number in sorted(read) if recorder.arrays[number] is not None]
        binding.constants = [recorder.arrays[number] for number in constants]
        inputs = [places[id(each)] for each in binding.variables]
        rest = program.outputs[len(updated) :]
        program = replace(program, outputs=(*[program.outputs[i] for i in order], *rest))
        program = with_inputs(program, [*binding.arguments, *inputs, *constants])
        return self._step(program, binding)

    def _scoped(self, program: Program) -> Program:
        """The program with the module's path in every instruction."""
        observation = self._observation
        if observation is None:
            return program
        self._report.traffic = observation.traffic
        first = len(program.inputs) + len(program.scalars)
        instructions = tuple(
            replace(each, scope=observation.scope_of(each.results.start - first))
            for each in program.instructions
        )
        return replace(program, instructions=instructions)

    def _regathered(self, program: Program) -> Program:
        """The program for ZeRO 3, on one placement."""
        config = self._graph.settings.config
        if config.zero_stage < 3 or config.auto_parallel or len(program.devices) > 1:
            return program
        parameters = {~each.value.position for each in self._variables if each.kind == "parameter"}

        def gather_again(whole: Program) -> Program:
            return regather(whole, parameters, self._turns_of(whole))

        return run_passes(program, [(REGATHER, gather_again)], self._watch)

    def _laid_out(self, program: Program, updated: list[Tensor]) -> Program:
        """The program with SBP that were chosen for all of it, if that is asked for."""
        options = self._graph.settings.config.auto_parallel
        if options is None or not isinstance(self._device, Placement):
            return program
        first = len(program.inputs) + len(program.scalars)
        pinned = {first + position for position in self._recorder.pinned}

        def lay_out(whole: Program) -> Program:
            laid = lay_out_program(whole, self._variables, updated, pinned, options)
            self._moves = laid.moves
            if self._observation is not None:
                self._observation.say(1, str(laid))
            return laid.program

        return run_passes(program, [(AUTO_PARALLEL, lay_out)], self._watch)

    def _with_sparse_updates(self, program: Program) -> Program:
        """The program after the pass for optimizers that were added with `is_sparse`."""
        chosen = set().union(*(step.tensors for step in self._steps if step.training.sparse))
        if not chosen or isinstance(self._device, Placement):
            return program
        tables = {~each.value.position for each in self._variables if id(each.tensor) in chosen}

        def update_rows(whole: Program) -> Program:
            return update_looked_up_rows(whole, tables)

        return run_passes(program, [(SPARSE_UPDATES, update_rows)], self._watch)

    def _turns_of(self, program: Program) -> list[Turn]:
        """The turn of each instruction, which has the number it got when it was recorded."""
        first = len(program.inputs) + len(program.scalars)
        turn_of = self._recorder.turn_of
        return [turn_of(each.results.start - first) for each in program.instructions]

    def _step(self, program: Program, binding: Binding) -> Step:
        """The step that runs `program`."""
        variables = (*binding.variables, *binding.unread)
        refuse_overlaps(self._arguments, binding.written, variables)
        move_tensors(self._moves)
        numbers = list(self._recorder.scalars)
        draws, changing = self._find_draws(numbers)
        for step in self._steps:
            changing |= step.slots()
        changing |= _hidden_numbers(program)
        first = len(binding.arguments)
        constants = {place: each for place, each in enumerate(numbers) if place not in changing}
        compare_programs(program, constants, _everywhere(program, self._device), self._graph.name)
        donated = range(first, first + binding.changed)
        checked = self._recorder.checked
        name, watch = self._graph.name, self._watch
        executable: Executable | Pipeline
        if self._turns is None:
            executable = Executable(program, donated, self._device, constants, name, watch)
        else:
            executable = Pipeline(program, self._turns, donated, constants, checked, name, watch)
            self._report.stages = schedule_text(executable)
            if self._observation is not None:
                self._observation.say(1, "\n".join(self._report.stages))
        executable.compile()
        specs = [tensor._value.spec for tensor in self._arguments]
        return Step(executable, binding, numbers, self._steps, draws, checked, self._report, specs)

    def _find_draws(self, numbers: list[Any]) -> tuple[list[Draws], set[int]]:
        """How the step uses generators, and the places of the numbers they fill in."""
        marked = self._marks.find(numbers)
        draws = []
        for index, (generator, count, end) in enumerate(self._marks.drawn()):
            own = [(place, draw) for place, which, draw in marked if which == index]
            seeds = tuple(place for place, draw in own if draw is None)
            streams = tuple((place, draw) for place, draw in own if draw is not None)
            draws.append(Draws(generator, count, end, seeds, streams))
        return draws, {place for place, _, _ in marked}


def _hidden_numbers(program: Program) -> set[int]:
    """Places of the numbers that the compiler must not know."""
    first = len(program.inputs)
    return {
        number - first
        for instruction in program.instructions
        if instruction.operation.primitive.traits.kind.hides_numbers
        for number in instruction.operands
        if first <= number < first + len(program.scalars)
    }


def _everywhere(program: Program, device: Any) -> Any:
    """The device of a program, or one placement with all ranks of its placements."""
    if not isinstance(device, Placement):
        return device
    return Placement(device.type, sorted({rank for each in program.devices for rank in each.flat}))


def _device_of(graph: Recordable, arguments: Sequence[Tensor]) -> Any:
    """The device, or placement, of the first parameter, buffer or argument."""
    for _, module in graph.named_modules():
        for tensor in (*module.parameters(), *module.buffers()):
            return tensor.device
    for tensor in arguments:
        return tensor.device
    return CPU
