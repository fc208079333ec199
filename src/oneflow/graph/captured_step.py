"""`CapturedStep`: a step of a graph as it was recorded, and the records it consists of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oneflow.base.sbp import NdSbp
from oneflow.base.spec import TensorSpec
from oneflow.dispatch.global_call import FIRST_SEED
from oneflow.graph.guards import Guards
from oneflow.graph.module_tracer import ModuleTensors
from oneflow.graph.optimizer_steps import OptimizerStep
from oneflow.graph.variables import Attribute
from oneflow.passes.partition import Phase
from oneflow.primitives.operation import Operation
from oneflow.program.ir import Program
from oneflow.random.generator import Generator
from oneflow.tensor.host_inputs import AfterCall, HostInput
from oneflow.tensor.tensor import Tensor


@dataclass(frozen=True)
class StepInput:
    """An input of a captured program.

    Attributes:
        kind: ``"argument"``, ``"parameter"``, ``"buffer"``, ``"state"`` of an optimizer, another
            ``"tensor"``, or ``"constant"``.
        name: qualified name, for errors and listings.
        source: the variable's tensor, the constant's array, or the index of the argument.
        is_written: `build` writes to it in place.
    """

    kind: str
    name: str
    source: Any
    is_written: bool = False


@dataclass(frozen=True)
class StepOutputs:
    """The outputs of a captured program after the new values of variables.

    They are new contents of arguments, gradients to hand out, and results, in this order.

    Attributes:
        written: indices of the tensor arguments that get new contents.
        gradients: tensors, or indices of tensor arguments, that get gradients, with the SBP of
            these: ZeRO may split them, and not the parameters.
        results: per result, its spec, or the tensor or the index of the argument that it is; only
            the former are outputs.
        structure: the structure of the results.
    """

    written: tuple[int, ...]
    gradients: tuple[tuple[Tensor | int, NdSbp | None], ...]
    results: tuple[TensorSpec | Tensor | int, ...]
    structure: Any


@dataclass(frozen=True)
class GeneratorUse:
    """The draws of a step from one generator.

    Attributes:
        generator: the generator.
        count: number of streams that a call takes; None if it starts again from a seed.
        end: position after a call, if `count` is None.
        seeds: indices of its seed among the run-time numbers, with the ranks that draw together.
        streams: indices of stream numbers, with the number of the draw.
    """

    generator: Generator
    count: int | None
    end: tuple[int, int]
    seeds: tuple[tuple[int, tuple[int, ...] | None], ...]
    streams: tuple[tuple[int, int], ...]

    def update_numbers(self, numbers: list[Any]) -> None:
        """Write the numbers of the next call, and advance the generator."""
        seed, stream = self.generator.position
        for index, ranks in self.seeds:
            numbers[index] = seed if ranks is None else FIRST_SEED.value(seed, ranks)
        for index, draw in self.streams:
            numbers[index] = stream + draw
        self.generator.position = self.end if self.count is None else (seed, stream + self.count)


@dataclass(frozen=True)
class StepSummary:
    """The description of a step that listings show.

    Attributes:
        arguments: the tensor arguments, as text.
        results: the tensors among the results, as text.
        modules: inputs and outputs of each module, by path.
        stages: the schedule of each stage of a pipeline, as text.
    """

    arguments: Sequence[str]
    results: Sequence[str] = ()
    modules: Mapping[str, ModuleTensors] = field(default_factory=dict)
    stages: Sequence[str] = ()


@dataclass(frozen=True)
class CapturedStep:
    """One step of a graph, as `build` and the optimizers recorded it. Nothing of it has run.

    Attributes:
        name: the name of the graph.
        device: the device or placement on which it runs.
        program: the program; it returns the new values of `updates`, then `outputs`.
        inputs: the inputs of the program.
        updates: numbers of the inputs that get new values.
        outputs: its other outputs.
        called: structure of the arguments.
        arguments: the tensors of the call.
        attributes: attributes that have to be the same whenever the step runs.
        guarded_dicts: dicts of modules that may get no further modules, parameters, buffers and
            hooks.
        guards: the Python values and hooks with which it was recorded.
        numbers: the run-time numbers.
        dynamic_numbers: indices of the numbers that differ from call to call.
        draws: the draws from generators.
        host_inputs: tensors that are read from the host before each call.
        after_call: what is done with gradients of host inputs after each call.
        optimizer_steps: the optimizers' steps in it.
        checks: operations with a run-time check, and the user's lines that called them.
        phases: phase of each instruction, by the number of its first result.
        writes: numbers of new values of tensors, each with that of the value it replaces.
        guarded: a check in the step or before it may have failed when the step writes.
        pinned: results of conversions that the user asked for.
        summary: its description.
    """

    name: str
    device: Any
    program: Program
    inputs: tuple[StepInput, ...]
    updates: tuple[int, ...]
    outputs: StepOutputs
    called: Any
    arguments: tuple[Tensor, ...]
    attributes: tuple[Attribute, ...]
    guarded_dicts: tuple[dict[Any, Any], ...]
    guards: Guards
    numbers: tuple[Any, ...]
    dynamic_numbers: frozenset[int]
    draws: tuple[GeneratorUse, ...]
    host_inputs: tuple[HostInput, ...]
    after_call: tuple[AfterCall, ...]
    optimizer_steps: tuple[OptimizerStep, ...]
    checks: tuple[tuple[Operation, str], ...]
    phases: Mapping[int, Phase]
    writes: tuple[tuple[int, int], ...]
    guarded: bool
    pinned: Collection[int]
    summary: StepSummary
