"""Recording a graph's step without running or compiling it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from oneflow.base.placement import Placement
from oneflow.graph.graph import Graph
from oneflow.graph.recording import Recording
from oneflow.graph.step import Binding
from oneflow.graph.structure import take_call_apart
from oneflow.graph.zero import undoing_zero
from oneflow.passes.pipeline import prepare_whole
from oneflow.program.equal_values import share_equal_values
from oneflow.program.ir import Program
from oneflow.runtime.planning_mode import planning
from oneflow.tensor.tensor import Tensor


@dataclass(frozen=True)
class Input:
    """What a program is given.

    Attributes:
        name: of the argument, parameter, buffer or state.
        kind: ``"argument"``, ``"parameter"``, ``"buffer"``, ``"state"``, ``"tensor"`` or
            ``"constant"``.
    """

    name: str
    kind: str


@dataclass(frozen=True)
class RecordedProgram:
    """The step of a graph as it would be compiled.

    Attributes:
        name: of the graph.
        program: the step.
        placement: where it runs.
        inputs: what its inputs are.
        donated: inputs that the step writes over.
    """

    name: str
    program: Program
    placement: Placement
    inputs: tuple[Input, ...]
    donated: range

    @functools.cached_property
    def prepared(self) -> Program:
        """The program after the passes of the compiler, and one that XLA runs."""
        return share_equal_values(prepare_whole(self.program))


class _Planned(Recording):
    """A recording that ends before anything is compiled, and leaves no trace."""

    def run(self) -> Any:
        """The step as a `RecordedProgram`."""
        with undoing_zero(each.optimizer for each in self._graph.trainings()):
            return super().run()

    def _step(self, program: Program, binding: Binding) -> Any:
        kinds = {each.name: each.kind for each in self._variables}
        inputs = [Input(f"argument {place}", "argument") for place in binding.arguments]
        names = [binding.names[id(each)] for each in binding.variables]
        inputs += [Input(name, kinds[name]) for name in names]
        inputs += [Input(f"constant {i}", "constant") for i in range(len(binding.constants))]
        first = len(binding.arguments)
        return RecordedProgram(
            self._graph.name,
            program,
            self._device,
            tuple(inputs),
            range(first, first + binding.changed),
        )


def record_graph(graph: Graph, args: tuple, kwargs: dict[str, Any]) -> RecordedProgram:
    """What a call of a graph would run. The graph, its modules and optimizers stay as they are.

    Raises:
        TypeError: the graph's tensors are local; a plan is about a placement.
        RuntimeError: the graph is on several placements.
    """
    tensors: list[Tensor] = []
    structure = take_call_apart(args, kwargs, tensors, graph.name)
    with planning():
        recorded = _Planned(graph, graph.build, structure, tensors).run()
    if not isinstance(recorded.placement, Placement):
        raise TypeError(
            f"{graph.name} runs on `{recorded.placement}`; a plan is about global tensors: bring "
            "its modules and arguments to a placement with `to_global(placement, sbp)`"
        )
    places = recorded.program.devices
    if len(places) > 1:
        raise RuntimeError(
            f"{graph.name} is a pipeline over {len(places)} placements, and a plan is about one; "
            "plan each stage as a graph of its own"
        )
    return recorded
