"""ZeRO: tensors that each data parallel rank would keep a copy of are split over the ranks.

Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models" (2020):
stage 1 splits the states of optimizers, stage 2 the gradients too, stage 3 the parameters too. Here
a stage only gives these tensors another SBP. The collectives that follow (a reduce-scatter of
gradients, an all-gather of updated parameters) are inferred as for every program.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from functools import partial

from oneflow.base.sbp import BROADCAST, NdSbp, split
from oneflow.base.spec import TensorSpec
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.global_tensors.conversion import to_global
from oneflow.optim.optimizer import Optimizer
from oneflow.primitives.shard_shapes import split_counts
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


def split_over_replicas(spec: TensorSpec, min_size: int) -> NdSbp:
    """The SBP that splits a tensor over the ranks that hold copies of it.

    Args:
        spec: the spec of the tensor.
        min_size: elements that shards have at least; a smaller tensor keeps its SBP.
    """
    hierarchy = spec.device.hierarchy
    copies = math.prod(
        n for n, component in zip(hierarchy, spec.sbp, strict=True) if component is BROADCAST
    )
    if not spec.ndim or spec.numel < copies * min_size:
        return spec.sbp

    def padding_cost(dim: int) -> tuple[bool, int]:
        parts = copies * math.prod(split_counts(hierarchy, spec.sbp, dim))
        return spec.shape[dim] % parts != 0, -spec.shape[dim]

    even = [dim for dim in range(spec.ndim) if not padding_cost(dim)[0]]
    dim = even[0] if even else min(range(spec.ndim), key=padding_cost)
    return tuple([split(dim) if component is BROADCAST else component for component in spec.sbp])


def apply_zero(optimizers: Iterable[Optimizer], stage: int, min_size: int) -> None:
    """Shard states of optimizers, gradients and parameters as a stage of ZeRO asks for.

    Local tensors stay local.
    """
    for optimizer in optimizers:
        optimizer.state_sbp = partial(split_over_replicas, min_size=min_size)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.is_global:
                    _apply_to(parameter, optimizer.state.get(parameter, {}), stage, min_size)


@contextlib.contextmanager
def zero_scope(optimizers: Iterable[Optimizer]) -> Iterator[None]:
    """Context manager: afterwards everything has the SBP it had before."""
    optimizers = list(optimizers)
    parameters = [
        p for optimizer in optimizers for group in optimizer.param_groups for p in group["params"]
    ]
    saved = [(parameter, parameter._value, parameter.gradient_sbp) for parameter in parameters]
    states = [
        (
            optimizer,
            optimizer.state_sbp,
            [(key, state, dict(state)) for key, state in optimizer.state.items()],
        )
        for optimizer in optimizers
    ]
    try:
        yield
    finally:
        for parameter, value, gradient_sbp in saved:
            parameter._value, parameter.gradient_sbp = value, gradient_sbp
        for optimizer, state_sbp, before in states:
            optimizer.state_sbp = state_sbp
            optimizer.state.clear()
            for key, state, content in before:
                state.clear()
                state.update(content)
                optimizer.state[key] = state


def _apply_to(parameter: Tensor, state: dict, stage: int, min_size: int) -> None:
    spec = unwrap(parameter).spec
    sbp = split_over_replicas(spec, min_size)
    with no_grad():
        for name, tensor in list(state.items()):
            if isinstance(tensor, Tensor) and unwrap(tensor).spec is spec:
                state[name] = to_global(tensor, sbp=sbp)
        if stage >= 3 and spec.sbp != sbp:
            parameter.data = to_global(parameter.data, sbp=sbp)
    parameter.gradient_sbp = sbp if stage >= 2 else None
