"""Casts of the distribution of blobs: `oneflow.parallel_cast` and `hierarchical_parallel_cast`."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.base.keyword_aliases import keyword_aliases
from oneflow.base.sbp import Sbp, named_sbp
from oneflow.tensor.tensor import Tensor

_GRAD_MODES = ("restore", "identity", "manual")


def parallel_cast(
    input: Tensor,
    name: str | None = None,
    distribute: Sbp | None = None,
    gradient_distribute: Sbp | None = None,
) -> Tensor:
    """The blob, distributed in this way over the devices it is on; one device has all of it.

    Args:
        input: a blob.
        name: accepted.
        distribute: `oneflow.distribute.split(axis)` or `oneflow.distribute.broadcast()`; None
            leaves the blob as it is.
        gradient_distribute: how its gradient is distributed; as the blob's by default.

    Example:
        >>> import oneflow as flow
        >>> flow.parallel_cast(flow.ones(4), distribute=flow.distribute.split(0)).shape
        oneflow.Size([4])
    """
    if not input.is_global or (distribute is None and gradient_distribute is None):
        return input
    sbp = input.sbp if distribute is None else distribute
    return input.to_global(sbp=sbp, grad_sbp=gradient_distribute)


@keyword_aliases(nd_sbp="parallel_distribution", grad_nd_sbp="grad_parallel_distribution")
def hierarchical_parallel_cast(
    input: Tensor,
    parallel_distribution: Sequence[str],
    grad_mode: str | None = None,
    grad_parallel_distribution: Sequence[str] | None = None,
    name: str | None = None,
) -> Tensor:
    """The blob, distributed in this way over a grid of devices; one device has all of it.

    Args:
        input: a blob.
        parallel_distribution: "B", "P" or "S(axis)" for each dimension of the grid.
        grad_mode: "restore" (the default): the gradient is distributed as `input` is; "identity":
            as the result is; "manual": as `grad_parallel_distribution` says.
        grad_parallel_distribution: as `parallel_distribution`.
        name: accepted.

    Raises:
        ValueError: a text is none of these, or the distribution of the gradient is not said.

    Example:
        >>> import oneflow as flow
        >>> flow.hierarchical_parallel_cast(flow.ones(4), ["S(0)"]).shape
        oneflow.Size([4])
    """
    if grad_mode not in (None, *_GRAD_MODES):
        raise ValueError(f"`grad_mode` must be one of {_GRAD_MODES}, got {grad_mode!r}")
    if grad_mode == "manual" and grad_parallel_distribution is None:
        raise ValueError("`grad_mode` is 'manual' and needs a `grad_parallel_distribution`")
    sbp = [named_sbp(distribution) for distribution in parallel_distribution]
    if not input.is_global:
        return input
    grad_sbp = {
        "identity": sbp,
        "manual": [named_sbp(distribution) for distribution in grad_parallel_distribution or ()],
    }.get(grad_mode or "restore")
    return input.to_global(sbp=sbp, grad_sbp=grad_sbp)
