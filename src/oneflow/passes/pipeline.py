"""The passes a program goes through before it is compiled, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from oneflow.passes.channels_last import move_channels_last
from oneflow.passes.dead_code import eliminate_dead_code
from oneflow.passes.materialize import materialize_shared
from oneflow.passes.order_updates import order_updates
from oneflow.program.ir import Program

Pass = tuple[str, Callable[[Program], Program]]
# Sees every pass: its name, the program before it, the program after it.
Watch = Callable[[str, Program, Program], None]

PASSES: tuple[Pass, ...] = (
    # Values nobody holds any more must not even be computed.
    ("dead_code", eliminate_dead_code),
    # The CPU's convolutions and reductions over channels are faster on channels-last activations.
    ("channels_last", move_channels_last),
)
# Only for programs that are compiled as a whole, after the others.
WHOLE_PASSES: tuple[Pass, ...] = (
    # A value that a convolution reads from memory is not computed again by others.
    ("materialize", materialize_shared),
    # New parameters are written over the old ones; nothing is copied for it.
    ("order_updates", order_updates),
)
# Passes of graphs alone, which know more than the program.
REGATHER, AUTO_PARALLEL, SPARSE_UPDATES = "regather", "auto_parallel", "sparse_updates"
NAMES = (REGATHER, AUTO_PARALLEL, SPARSE_UPDATES, *(name for name, _ in PASSES + WHOLE_PASSES))


def run_passes(program: Program, passes: Sequence[Pass], watch: Watch | None = None) -> Program:
    """The program after `passes`; each is shown to `watch`."""
    for name, function in passes:
        before, program = program, function(program)
        if watch is not None:
            watch(name, before, program)
    return program


def optimize(program: Program, watch: Watch | None = None) -> Program:
    """Run the passes that every program goes through."""
    return run_passes(program, PASSES, watch)


def prepare_whole(program: Program, watch: Watch | None = None) -> Program:
    """Run the passes for a program that is compiled as a whole, after `optimize`."""
    return run_passes(program, WHOLE_PASSES, watch)
