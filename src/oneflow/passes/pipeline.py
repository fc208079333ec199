"""The pass pipeline: all passes in order, each with its condition, and the function that runs them.

Eager programs and the steps of graphs go through the same list. A pass is a function from a program
to an equivalent program; one that finds nothing to do returns the program it was given.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneflow.base.placement import Placement
from oneflow.passes.channels_last import move_channels_last
from oneflow.passes.checked_updates import check_updates
from oneflow.passes.dead_code import eliminate_dead_code
from oneflow.passes.exchange_once import exchange_once
from oneflow.passes.fuse_attention import fuse_attention, may_fuse_attention
from oneflow.passes.materialize import materialize_shared
from oneflow.passes.order_updates import order_updates
from oneflow.passes.partition import Phase
from oneflow.passes.regather import regather
from oneflow.passes.sparse_updates import make_updates_sparse
from oneflow.program.ir import Program

if TYPE_CHECKING:
    from oneflow.passes.auto_sharding import ShardingSearch

# Sees every pass that runs: its name, the program before it, the program after it.
PassObserver = Callable[[str, Program, Program], None]
# They see all passes of this process. The tests verify programs here.
PASS_CALLBACKS: list[PassObserver] = []


class PassGroup(enum.Enum):
    """The kinds of programs that a pass is for. A program goes through each group once at most.

    Attributes:
        STEP: the step of a graph, as it was captured.
        PROGRAM: every program, also one that runs instruction by instruction.
        EXECUTABLE: a program that is compiled as a whole.
    """

    STEP = enum.auto()
    PROGRAM = enum.auto()
    EXECUTABLE = enum.auto()


@dataclass(frozen=True)
class PassContext:
    """Facts about a program that passes depend on and that are not in the program.

    Attributes:
        writes: numbers of new values of tensors, each with that of the value it replaces, in the
            order in which tensors were written to.
        zero_stage: stage of ZeRO; 0 without it.
        parameters: inputs that are parameters.
        phases: phase of each instruction, by the number of its first result.
        auto_sharding: the search for shardings, if the graph asks for auto parallelism.
        conversions: the search for shardings of intermediate values, where conversions cost much.
        sparse_tables: inputs that optimizers update sparsely.
        pinned: results of conversions that the user asked for.
        partitioned: the program is split into tasks, and each is compiled for itself.
        guarded: a check before the program may have failed.
        numbers: run-time numbers that are the same in every run, by the number of the value.
    """

    writes: Collection[tuple[int, int]] = ()
    zero_stage: int = 0
    parameters: Collection[int] = ()
    phases: Mapping[int, Phase] = field(default_factory=dict)
    auto_sharding: ShardingSearch | None = None
    conversions: ShardingSearch | None = None
    sparse_tables: Collection[int] = ()
    pinned: Collection[int] = ()
    partitioned: bool = False
    guarded: bool = False
    numbers: Mapping[int, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Pass:
    """One entry of the list.

    Attributes:
        name: the name by which ``ONEFLOW_DEBUG_PASS`` and observers know it.
        group: the kind of programs it is for.
        run: the pass.
        condition: whether it runs on a program in a context.
    """

    name: str
    group: PassGroup
    run: Callable[[Program, PassContext], Program]
    condition: Callable[[Program, PassContext], bool] = lambda program, context: True


def _assign_shardings(program: Program, context: PassContext) -> Program:
    from oneflow.passes.auto_sharding import assign_shardings  # noqa: PLC0415 - few programs need it

    assert context.auto_sharding is not None
    return assign_shardings(program, context.auto_sharding)


def _choose_conversions(program: Program, context: PassContext) -> Program:
    from oneflow.passes.auto_sharding import choose_conversions  # noqa: PLC0415 - as above

    assert context.conversions is not None
    return choose_conversions(program, context.conversions)


PASSES: tuple[Pass, ...] = (
    # After a failed run-time check tensors keep their values. First, while numbers are as recorded.
    # The tasks of a pipeline that update start only when all checks are known.
    Pass(
        "checked_updates",
        PassGroup.PROGRAM,
        lambda program, context: check_updates(program, context.writes, context.guarded),
        lambda program, context: (
            bool(context.writes)
            and (context.guarded or bool(program.checks))
            and not context.partitioned
        ),
    ),
    # The shardings of all tensors are chosen together.
    Pass(
        "auto_parallel",
        PassGroup.STEP,
        _assign_shardings,
        lambda program, context: context.auto_sharding is not None,
    ),
    # Optimizers touch only the rows of embeddings that were looked up.
    Pass(
        "sparse_updates",
        PassGroup.STEP,
        lambda program, context: make_updates_sparse(program, context.sparse_tables),
        lambda program, context: bool(context.sparse_tables),
    ),
    # Values nobody holds any more must not even be computed.
    Pass(
        "dead_code",
        PassGroup.PROGRAM,
        lambda program, context: eliminate_dead_code(program),
    ),
    # Gradients of micro batches are added up on each device before devices exchange them.
    Pass(
        "exchange_once",
        PassGroup.STEP,
        lambda program, context: exchange_once(program, context.pinned),
        lambda program, context: any(isinstance(device, Placement) for device in program.devices),
    ),
    # Conversions are weighed over the whole step where much is sent.
    Pass(
        "conversions",
        PassGroup.STEP,
        _choose_conversions,
        lambda program, context: context.conversions is not None,
    ),
    # Parameters that ZeRO 3 splits are gathered when they are read, in each phase anew.
    Pass(
        "regather",
        PassGroup.STEP,
        lambda program, context: regather(program, context.parameters, context.phases),
        lambda program, context: (
            context.zero_stage >= 3 and not context.auto_sharding and not context.partitioned
        ),
    ),
    # Attention that is written out keeps no matrix of weights.
    Pass(
        "fuse_attention",
        PassGroup.STEP,
        lambda program, context: fuse_attention(program, context.numbers),
        lambda program, context: not context.partitioned and may_fuse_attention(program),
    ),
    # The CPU's convolutions and reductions over channels are faster on channels-last activations.
    Pass(
        "channels_last",
        PassGroup.EXECUTABLE,
        lambda program, context: move_channels_last(program),
        lambda program, context: not context.partitioned,
    ),
    # A value that a convolution reads from memory is not computed again by others.
    Pass(
        "materialize",
        PassGroup.EXECUTABLE,
        lambda program, context: materialize_shared(program),
    ),
    # New parameters are written over the old ones; nothing is copied for it.
    Pass(
        "order_updates",
        PassGroup.EXECUTABLE,
        lambda program, context: order_updates(program),
    ),
)


def run_passes(
    program: Program,
    *groups: PassGroup,
    context: PassContext | None = None,
    observer: PassObserver | None = None,
) -> Program:
    """Return the program after the passes of `groups` that apply to it.

    Args:
        program: the program.
        groups: the groups of passes to run.
        context: what else is known of the program; nothing for eager programs.
        observer: sees every pass that runs.
    """
    context = context or PassContext()
    for program_pass in PASSES:
        if program_pass.group not in groups or not program_pass.condition(program, context):
            continue
        before, program = program, program_pass.run(program, context)
        if observer is not None:
            observer(program_pass.name, before, program)
        for general in PASS_CALLBACKS:
            general(program_pass.name, before, program)
    return program
