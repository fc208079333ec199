"""Calls on global tensors: operands are converted to the signature of the operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.base import cluster
from oneflow.base.hook import Hook
from oneflow.base.location import user_line
from oneflow.base.parameters import parameters_of
from oneflow.base.placement import Placement
from oneflow.base.sbp import NdSbp, Split
from oneflow.base.spec import TensorSpec
from oneflow.control_plane.collective_launch import launch_collective
from oneflow.differentiation.grad_mode import MODE
from oneflow.differentiation.node import add_node
from oneflow.primitives.operation import Operation, requested_sbp
from oneflow.primitives.operators.boxing import boxing
from oneflow.primitives.sharding.boxing_path import find_collective_axes
from oneflow.primitives.sharding.decomposition import decomposition_of
from oneflow.primitives.sharding.signatures import choose_signature
from oneflow.program.captured_number import CapturedNumber
from oneflow.program.value import Value
from oneflow.runtime.eager import current, read_array, recorder_for

# The seed of the first of some processes, from that of this one.
FIRST_SEED: Hook[Callable[[int, tuple[int, ...]], int]] = Hook(
    "FIRST_SEED", "oneflow.distributed.objects"
)


class GlobalCall:
    """The recorded steps of a call on global tensors: conversions and the operation between them.

    Attributes:
        operation: the operation on converted operands.
        device: its placement.
        conversions: the SBP to which operands are converted, by their position.
        result: the SBP to which the result is converted, or None.
        collective_axes: the mesh axes along which a conversion exchanges data between processes. If
            there are any, the call runs as a program of its own, in all processes of the placement
            at once.
        ranks: the processes.
        description: the description of the conversion, for the diagnosis of hanging processes.
    """

    __slots__ = (
        "collective_axes",
        "conversions",
        "description",
        "device",
        "operation",
        "ranks",
        "result",
    )

    simple = False

    def __init__(
        self,
        operation: Operation,
        conversions: dict[int, NdSbp],
        result: NdSbp | None,
        collective_axes: frozenset[int],
    ) -> None:
        self.operation = operation
        self.device = operation.device
        self.conversions = conversions
        self.result = result
        self.collective_axes = collective_axes
        if collective_axes:
            attributes = operation.attributes
            self.ranks = tuple(sorted(self.device.flat))
            self.description = (
                f"conversion of {operation.in_specs[0]!r} from {list(attributes['source'])} to "
                f"{list(attributes['target'])}"
            )

    def record(self, operands: tuple[Any, ...]) -> Any:
        """Record the call; returns what the primitive returns."""
        if self.conversions:
            values = list(operands)
            for position, sbp in self.conversions.items():
                values[position] = converted(values[position], sbp)
            operands = tuple(values)
        if self.collective_axes:
            _run_pending(self.device)
        operation = self.operation
        result = None
        while result is None:
            result = recorder_for(self.device, user_line).record(operation, operands)
        tracked = any(type(x) is Value and x.node is not None for x in operands)
        if tracked and operation.differentiable and MODE.enabled:
            add_node(operation, operands, result)
        if self.collective_axes and not result.is_symbolic and self.device.includes_this_process:
            placement = self.device
            launch_collective(
                self.ranks,
                placement.type,
                self.description,
                lambda: (read_array(result), None),
                (placement.flat, placement.hierarchy, self.collective_axes),
            )
        return result if self.result is None else converted(result, self.result)


class DecomposedCall(GlobalCall):
    """A call of a primitive that would need split dimensions whole, as a decomposition into others.

    Attributes:
        compute: the decomposition, a function of the operands and attributes.
    """

    __slots__ = ("compute",)

    def __init__(self, operation: Operation, compute: Callable[..., Any]) -> None:
        super().__init__(operation, {}, None, frozenset())
        self.compute = compute

    def record(self, operands: tuple[Any, ...]) -> Any:
        """Record the decomposition."""
        return self.compute(*operands, **self.operation.attributes)


class SeededCall(GlobalCall):
    """A draw of several processes, which all take the seed of the first of them.

    Broadcast values must be the same on all, and programs may seed each rank in its own way.

    Attributes:
        position: the position of the seed among the operands.
    """

    __slots__ = ("position",)

    def __init__(
        self,
        operation: Operation,
        conversions: dict[int, NdSbp],
        result: NdSbp | None,
        position: int,
    ) -> None:
        super().__init__(operation, conversions, result, frozenset())
        self.ranks = tuple(sorted(self.device.flat))
        self.position = position

    def record(self, operands: tuple[Any, ...]) -> Any:
        """Record the draw."""
        values = list(operands)
        seed = values[self.position]
        is_captured = type(seed) is CapturedNumber
        synchronize = CapturedNumber.with_ranks if is_captured else FIRST_SEED.value
        values[self.position] = synchronize(seed, self.ranks)
        return super().record(tuple(values))


def _seed_position(operation: Operation) -> int | None:
    """Return the position of the seed of a draw of several processes; None for other operations."""
    if not cluster.is_multiprocess() or len(set(operation.device.flat)) == 1:
        return None
    names = parameters_of(operation.primitive.impl).names
    return names.index("seed") if {"seed", "stream"} <= set(names) else None


def resolve_call(
    operation: Operation, specs: tuple[Any, ...], attributes: dict[Any, Any]
) -> Operation | GlobalCall:
    """Return the operation if its operands have the SBP of its signature, else a `GlobalCall`.

    The signature of the operation is chosen here.

    With several processes a collective conversion runs at once, as a program of its own: so
    all ranks run the same collectives in the same order, even where they read values at different
    points of the script.
    """
    requested = requested_sbp(operation, attributes.get("device"))
    has_tensors = any(isinstance(operand_spec, TensorSpec) for operand_spec in specs)
    choose_signature(operation, None if has_tensors else requested)
    compute = decomposition_of(operation, [_split_dims(operand_spec) for operand_spec in specs])
    if compute is not None:
        return DecomposedCall(operation, compute)
    conversions = {
        position: in_spec.sbp
        for position, (operand_spec, in_spec) in enumerate(
            zip(specs, operation.in_specs, strict=True)
        )
        if isinstance(operand_spec, TensorSpec) and operand_spec.sbp != in_spec.sbp
    }
    result = None if requested == operation.out_specs[0].sbp else requested
    collective_axes = frozenset()
    if operation.primitive is boxing and cluster.is_multiprocess():
        spec, attributes_of_boxing = operation.in_specs[0], operation.attributes
        collective_axes = find_collective_axes(
            spec.shape,
            spec.dtype.itemsize,
            attributes_of_boxing["hierarchy"],
            attributes_of_boxing["source"],
            attributes_of_boxing["target"],
        )
    seed = _seed_position(operation)
    if seed is not None:
        return SeededCall(operation, conversions, result, seed)
    if not (conversions or result or collective_axes):
        return operation
    return GlobalCall(operation, conversions, result, collective_axes)


def _split_dims(spec: Any) -> set[int]:
    """The dimensions of an operand that several devices have parts of; a number has none."""
    if not isinstance(spec, TensorSpec) or spec.sbp is None:
        return set()
    pairs = zip(spec.sbp, spec.device.hierarchy, strict=True)
    return {component.dim for component, size in pairs if isinstance(component, Split) and size > 1}


def _run_pending(placement: Placement) -> None:
    recorder = current.recorders.get(placement)
    if recorder is not None and recorder.outputs:
        recorder.flush("boxing")


def converted(value: Value, sbp: NdSbp) -> Value:
    """Convert a global value to another SBP on its placement; itself if it has that already."""
    spec = value.spec
    if spec.sbp == sbp:
        return value
    return boxing(
        value, shape=spec.shape, hierarchy=spec.device.hierarchy, source=spec.sbp, target=sbp
    )
