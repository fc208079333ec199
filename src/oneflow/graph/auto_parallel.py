"""Auto parallel in graphs: what may be laid out anew, and moving what is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from oneflow.base.placement import Placement
from oneflow.base.sbp import BROADCAST, NdSbp
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.global_tensors.conversion import to_global
from oneflow.graph.variables import Variable
from oneflow.passes.auto_parallel import parallelize
from oneflow.passes.lay_out import Freedom
from oneflow.primitives.cost.timing import MACHINES, Machine
from oneflow.program.ir import Program
from oneflow.tensor.tensor import Tensor


@dataclass(frozen=True)
class AutoParallel:
    """How SBP are chosen for a whole graph.

    Attributes:
        ignores_user: change what the user has split, too.
        shares: count one conversion for all readers of a value.
        computing: factor for the time of computing.
        latency: seconds of a collective besides its bytes; None leaves it to the type of devices.
    """

    ignores_user: bool
    shares: bool
    computing: float
    latency: float | None

    def machine(self, placement: Placement) -> Machine:
        """By whose rates time is counted."""
        given = MACHINES[placement.type]
        return replace(
            given,
            flops=given.flops / self.computing,
            memory=given.memory / self.computing,
            latency=given.latency if self.latency is None else self.latency,
        )

    def is_free(self, variable: Variable) -> bool:
        """Whether a variable may lie as is best."""
        broadcast = all(each is BROADCAST for each in variable.value.spec.sbp or ())
        return self.ignores_user or variable.kind == "state" or broadcast


@dataclass(frozen=True)
class Laid:
    """What auto parallel made of a program.

    Attributes:
        program: with other SBP.
        moves: tensors that shall lie differently, and how.
        seconds: what a step takes by the model, before and after.
    """

    program: Program
    moves: Sequence[tuple[Tensor, NdSbp]]
    seconds: tuple[float, float]

    def __str__(self) -> str:
        before, after = (f"{each * 1e3:.3g} ms" for each in self.seconds)
        return (
            f"auto parallel: a step takes {after} by the model, {before} without; "
            f"{len(self.moves)} tensors lie differently"
        )


def lay_out_program(
    program: Program,
    variables: Iterable[Variable],
    updated: Sequence[Tensor],
    pinned: Collection[int],
    options: AutoParallel,
) -> Laid:
    """Choose how everything in a recorded step lies.

    Args:
        program: whose first outputs are the new contents of `updated`.
        variables: what stands for inputs of the program.
        updated: the variables that it changes.
        pinned: results of conversions that the user asked for.
        options: how to choose.

    Raises:
        RuntimeError: the program runs on several placements.
    """
    devices = program.devices
    if len(devices) > 1:
        raise RuntimeError(
            f"auto parallel lays out a graph on one placement, and this one is on {len(devices)}; "
            "leave `enable_auto_parallel` out, and give the stages of a pipeline their SBP by hand"
        )
    by_place = {~each.value.position: each for each in variables}
    places = {id(each.tensor): place for place, each in by_place.items()}
    freedom = Freedom(
        [place for place, each in by_place.items() if options.is_free(each)],
        {index: places[id(tensor)] for index, tensor in enumerate(updated)},
        () if options.ignores_user else pinned,
    )
    machine = options.machine(next(iter(devices)))
    found, seconds = parallelize(program, freedom, machine, options.shares)
    moves = [
        (by_place[place].tensor, now.sbp)
        for place, (before, now) in enumerate(zip(program.inputs, found.inputs, strict=True))
        if now is not before and now.sbp is not None
    ]
    return Laid(found, moves, seconds)


def move_tensors(moves: Iterable[tuple[Tensor, NdSbp]]) -> None:
    """Bring tensors to where they shall lie."""
    with no_grad():
        for tensor, sbp in moves:
            tensor.data = to_global(tensor.data, sbp=sbp)
