"""A graph's step for the planner: captured, and not compiled."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from oneflow.base.placement import Placement
from oneflow.compiler.lower import Executable
from oneflow.graph.binding import bind
from oneflow.graph.capture import captured_step
from oneflow.graph.captured_step import StepInput
from oneflow.graph.compilation import constants_of, optimize, phases_of
from oneflow.graph.graph import Graph
from oneflow.graph.pipeline_parallel import PipelineExecutable
from oneflow.graph.pytree import flatten_call
from oneflow.graph.zero import zero_scope
from oneflow.program.cse import eliminate_common_values
from oneflow.program.ir import Program
from oneflow.runtime.planning_mode import planning
from oneflow.tensor.tensor import Tensor


@dataclass(frozen=True)
class StepProgram:
    """The step of a graph as it would be compiled.

    Attributes:
        name: the name of the graph.
        program: the program after all passes.
        placement: the devices on which it runs.
        inputs: the inputs of the program.
        donated: inputs that the step writes over.
        constants: numbers, by index, that are the same in every run.
        pipeline: its tasks, if it is on several placements, of which `placement` has all devices.
    """

    name: str
    program: Program
    placement: Placement
    inputs: tuple[StepInput, ...]
    donated: range
    constants: dict[int, Any]
    pipeline: PipelineExecutable | None = None

    def executable(self) -> Executable:
        """The program for the compiler, as the graph would run it; it is not compiled yet."""
        return Executable(
            self.program, self.donated, self.placement, self.constants, name=self.name
        )

    @functools.cached_property
    def cse_program(self) -> Program:
        """The program without values that are computed twice, as XLA runs it."""
        return eliminate_common_values(self.program)


def plan_step(graph: Graph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> StepProgram:
    """Return the step that a call of a graph would run.

    The graph, its modules and optimizers stay as they are.

    Raises:
        TypeError: the graph's tensors are local; a plan is about a placement.
    """
    tensors: list[Tensor] = []
    structure = flatten_call(args, kwargs, tensors, graph.name)
    optimizers = [added.optimizer for added in graph.added_optimizers()]
    with (
        planning(),
        zero_scope(optimizers),
        captured_step(graph, graph.build, structure, tensors) as captured,
    ):
        optimized = optimize(captured, graph.settings)
        program, binding = bind(captured, optimized)
    if not isinstance(captured.device, Placement):
        raise TypeError(
            f"{graph.name} runs on `{captured.device}`; a plan is about global tensors: bring "
            "its modules and arguments to a placement with `to_global(placement, sbp)`"
        )
    first = len(binding.arguments)
    donated = range(first, first + binding.changed)
    constants = constants_of(captured, program)
    placement, pipeline = captured.device, None
    if len(program.devices) > 1:
        phases = phases_of(captured, optimized)
        with planning():
            pipeline = PipelineExecutable(
                program, phases, donated, constants, captured.checks, graph.name
            )
        ranks = {rank for stage in pipeline.stages for rank in stage.flat}
        placement = Placement(placement.type, sorted(ranks))
    return StepProgram(graph.name, program, placement, binding.inputs, donated, constants, pipeline)
