"""Signatures of operators on two devices, by the inference that dispatch uses."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from drawing import Signatures

import oneflow as flow
from oneflow.base.placement import Placement
from oneflow.base.spec import spec_of
from oneflow.primitives.operation import Operation
from oneflow.primitives.sharding.signatures import candidates
from oneflow.runtime.events import EventKind


def signatures_of(call: Callable[..., Any], shapes: Sequence[tuple[int, ...]]) -> Signatures:
    """Return the signatures of the operator that a call runs, but for the one without parts.

    Args:
        call: runs one operator on tensors, and returns its result.
        shapes: those of the tensors.
    """
    operation = _operation_of(call, shapes)
    pair = Placement("cpu", [0, 1])
    operation.device = pair
    for name in ("in_specs", "out_specs"):
        specs = getattr(operation, name)
        on_pair = [spec_of(spec.shape, spec.dtype, pair, pair.broadcast) for spec in specs]
        setattr(operation, name, tuple(on_pair))
    rows = [
        tuple([sbp[0].code for sbp in (*candidate.inputs, *candidate.outputs)])
        for candidate in candidates(operation)
    ]
    result = tuple(operation.out_specs[0].shape)
    return Signatures((*shapes, result), tuple([row for row in rows if set(row) != {"B"}]))


def _operation_of(call: Callable[..., Any], shapes: Sequence[tuple[int, ...]]) -> Operation:
    tensors = [flow.zeros(*shape) for shape in shapes]
    with flow.no_grad(), flow.profiler.profile() as made:
        call(*tensors).numpy()
    (operation,) = [
        event.event.operation
        for event in made.events()
        if event.event.kind is EventKind.OPERATOR and event.event.operation.in_specs
    ]
    return copy.copy(operation)
