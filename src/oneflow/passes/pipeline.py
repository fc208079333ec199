"""The list of passes an eager program goes through before it is compiled."""

from __future__ import annotations

from oneflow.passes.channels_last import move_channels_last
from oneflow.passes.dead_code import eliminate_dead_code
from oneflow.passes.materialize import materialize_shared
from oneflow.program.ir import Program


def optimize(program: Program) -> Program:
    """Run every pass, in order."""
    # Values nobody holds any more must not even be computed.
    program = eliminate_dead_code(program)
    # The CPU's convolutions and reductions over channels are faster on channels-last activations.
    return move_channels_last(program)


def prepare_whole(program: Program) -> Program:
    """Run the passes for a program that is compiled as a whole, after `optimize`."""
    # A value that a convolution reads from memory is not computed again by others.
    return materialize_shared(program)
