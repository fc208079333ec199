"""Auto parallelism in graphs: the search that a graph asks for, and resharding its variables."""

from __future__ import annotations

from dataclasses import dataclass

from oneflow.base.dtype import DType
from oneflow.base.placement import Placement
from oneflow.base.sbp import BROADCAST
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.global_tensors.conversion import to_global
from oneflow.graph.captured_step import CapturedStep
from oneflow.passes.apply_shardings import ShardingConstraints
from oneflow.passes.auto_sharding import ShardingSearch
from oneflow.primitives.cost.chips import Chip, chip_of_type
from oneflow.program.cost import program_seconds
from oneflow.program.ir import Program


@dataclass(frozen=True)
class AutoParallelOptions:
    """The options of auto parallelism.

    Attributes:
        ignore_user_sbp: change tensors that the user has split, too.
        shares_conversions: count one conversion for all readers of a value.
        compute_factor: factor for the time of computing.
        latency: seconds of a collective besides its bytes; None for the figure of the device type.
    """

    ignore_user_sbp: bool
    shares_conversions: bool
    compute_factor: float
    latency: float | None

    def chip(self, placement: Placement) -> Chip:
        """The kind of the devices of a placement, as fast as the options say."""
        return chip_of_type(placement.type).slowed(self.compute_factor, self.latency)


def sharding_search(
    captured: CapturedStep, options: AutoParallelOptions | None, reduce_dtype: DType | None
) -> ShardingSearch | None:
    """The search for shardings of a captured step; None if auto parallelism is off.

    Raises:
        RuntimeError: the step runs on several placements.
    """
    if options is None or not isinstance(captured.device, Placement):
        return None
    program = captured.program
    devices = program.devices
    if len(devices) > 1:
        raise RuntimeError(
            f"auto parallel shards a graph on one placement, and this one is on {len(devices)}; "
            "leave `enable_auto_parallel` out, and give the stages of a pipeline their SBP by hand"
        )
    free = [
        number
        for number, (step_input, spec) in enumerate(
            zip(captured.inputs, program.inputs, strict=True)
        )
        if step_input.kind == "state"
        or (
            step_input.kind in ("parameter", "buffer", "tensor")
            and (options.ignore_user_sbp or all(sbp is BROADCAST for sbp in spec.sbp or ()))
        )
    ]
    constraints = ShardingConstraints(
        frozenset(free),
        dict(enumerate(captured.updates)),
        () if options.ignore_user_sbp else captured.pinned,
    )
    chip = options.chip(next(iter(devices)))
    return ShardingSearch(constraints, chip, options.shares_conversions, reduce_dtype)


def conversion_search(captured: CapturedStep, reduce_dtype: DType | None) -> ShardingSearch | None:
    """The search for shardings of what is between the variables of a step and its results.

    None for steps that are local, and for those on several placements.
    """
    if not isinstance(captured.device, Placement) or len(captured.program.devices) > 1:
        return None
    constraints = ShardingConstraints(frozenset(), {}, captured.pinned)
    chip = chip_of_type(captured.device.type)
    return ShardingSearch(constraints, chip, reduce_dtype=reduce_dtype)


def auto_parallel_text(before: Program, after: Program, options: AutoParallelOptions | None) -> str:
    """The line that `debug` prints of auto parallelism."""
    assert options is not None
    chip = options.chip(next(iter(before.devices)))
    old, new = (f"{sum(program_seconds(step, chip)) * 1e3:.3g} ms" for step in (before, after))
    changed = sum(a is not b for a, b in zip(before.inputs, after.inputs, strict=True))
    return (
        f"auto parallel: a step takes {new} by the model, {old} without; "
        f"{changed} tensors are resharded"
    )


def reshard_variables(captured: CapturedStep, optimized: Program) -> None:
    """Convert the variables to the shardings that passes chose for them."""
    specs = zip(captured.program.inputs, optimized.inputs, strict=True)
    with no_grad():
        for variable, (before, after) in zip(captured.inputs, specs, strict=True):
            if after is not before and after.sbp is not None:
                tensor = variable.source
                tensor.data = to_global(tensor.data, sbp=after.sbp)
