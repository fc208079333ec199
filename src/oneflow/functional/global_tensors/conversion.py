"""Global tensors: from local ones and back, other SBP and placements."""

from __future__ import annotations

from typing import Any

from oneflow.base.errors import UnavailableAttributeError
from oneflow.base.placement import Placement, Sharding
from oneflow.base.sbp import NdSbp, SbpLike, nd_sbp_of
from oneflow.functional.creation.conversion import clone
from oneflow.functional.creation.options import make_sharding
from oneflow.functional.registry import function
from oneflow.runtime.eager import current
from oneflow.tensor.call import wrap
from oneflow.tensor.global_values import (
    convert_sbp,
    global_to_local,
    local_to_global as value_to_global,
    move_global,
)
from oneflow.tensor.methods import attach
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


def is_global(self: Tensor) -> bool:
    """True for a global tensor.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2)
        >>> x.is_global, x.to_global(flow.placement("cpu", [0]), flow.sbp.broadcast).is_global
        (False, True)
    """
    return self._value.spec.sbp is not None


def placement(self: Tensor) -> Placement:
    """The placement of a global tensor.

    Raises:
        UnavailableAttributeError: the tensor is local.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, placement=flow.placement("cpu", [0]), sbp=flow.sbp.broadcast).placement
        oneflow.placement(type="cpu", ranks=[0])
    """
    return _require_global(self, "placement").device


def sbp(self: Tensor) -> NdSbp:
    """The SBP of a global tensor: one entry per dimension of its placement.

    Raises:
        UnavailableAttributeError: the tensor is local.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, placement=flow.placement("cpu", [0]), sbp=flow.sbp.split(0)).sbp
        (oneflow.sbp.split(dim=0),)
    """
    return _require_global(self, "sbp").sbp


def _require_global(tensor: Tensor, name: str) -> Any:
    spec = tensor._value.spec
    if spec.sbp is None:
        raise UnavailableAttributeError(
            f"local tensors have no `{name}`; make a global one with `.to_global(placement, sbp)`"
        )
    return spec


@function(namespace=None)
def to_global(
    input: Tensor,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    grad_sbp: SbpLike | None = None,
    check_meta: bool = True,
    copy: bool = False,
) -> Tensor:
    """A global tensor from every rank's local one, or one with another placement or SBP.

    Args:
        input: on a local tensor every rank of `placement` gives its part; a process that trains
            alone gives the same part for each rank. On a global tensor the values stay the same.
        placement: the placement of the result; for a global `input` its own if left out.
        sbp: the SBP of the result; for a global `input` its own if left out.
        grad_sbp: SBP of the gradient of `input`, for a global `input`; None or nothing in a
            list: that of `input`.
        check_meta: whether ranks compare the shapes and dtypes of their parts.
        copy: return a copy even where nothing changes.

    Returns:
        The global tensor; gradients flow back to `input`.

    Raises:
        ValueError: `placement` or `sbp` is missing, or the ranks' parts do not fit together.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2, 3).to_global(flow.placement("cpu", [0]), flow.sbp.split(0))
        >>> x.sbp, x.shape
        ((oneflow.sbp.split(dim=0),), oneflow.Size([2, 3]))
    """
    if is_global(input):
        return global_to_global(
            input, placement, sbp, grad_sbp=grad_sbp, check_meta=check_meta, copy=copy
        )
    return local_to_global(input, placement, sbp, check_meta=check_meta, copy=copy)


@function()
def local_to_global(
    input: Tensor,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    *,
    check_meta: bool = True,
    copy: bool = False,
) -> Tensor:
    """`to_global` of a local tensor.

    Raises:
        RuntimeError: `input` is global.

    Example:
        >>> import oneflow as flow
        >>> placement = flow.placement("cpu", [0])
        >>> flow.ones(2).local_to_global(placement, flow.sbp.broadcast).sbp
        (oneflow.sbp.broadcast,)
    """
    if is_global(input):
        raise RuntimeError("`local_to_global` takes a local tensor; use `to_global`")
    return wrap(
        value_to_global(unwrap(input), make_sharding(placement, sbp, input.ndim), check_meta)
    )


@function()
def global_to_global(
    input: Tensor,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    *,
    grad_sbp: SbpLike | None = None,
    check_meta: bool = False,
    copy: bool = False,
) -> Tensor:
    """`to_global` of a global tensor.

    Raises:
        RuntimeError: `input` is local.

    Example:
        >>> import oneflow as flow
        >>> placement = flow.placement("cpu", [0])
        >>> x = flow.ones(2, placement=placement, sbp=flow.sbp.broadcast)
        >>> x.global_to_global(sbp=flow.sbp.split(0)).sbp
        (oneflow.sbp.split(dim=0),)
    """
    spec = _require_global(input, "global_to_global")
    target = make_sharding(
        spec.device if placement is None else placement,
        spec.sbp if sbp is None else sbp,
        input.ndim,
    )
    gradient = (
        None if grad_sbp in (None, [], ()) else nd_sbp_of(grad_sbp, spec.device.ndim, input.ndim)
    )
    if target == Sharding(spec.device, spec.sbp) and gradient is None:
        return clone(input) if copy else input
    value = unwrap(input)
    if target.placement is spec.device:
        result = convert_sbp(value, target.sbp, gradient)
        if current.pinned is not None:
            current.pinned.add(result.position)
        return wrap(result)
    return wrap(move_global(value, target, gradient))


@function(namespace=None)
def to_local(input: Tensor, copy: bool = False) -> Tensor:
    """This rank's part of a global tensor; gradients flow back.

    Args:
        input: global tensor.
        copy: give the part memory of its own, which it has in any case.

    Raises:
        RuntimeError: `input` is local.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2, placement=flow.placement("cpu", [0]), sbp=flow.sbp.broadcast)
        >>> x.to_local()
        tensor([1., 1.], dtype=oneflow.float32)
    """
    _require_global(input, "to_local")
    return wrap(global_to_local(unwrap(input)))


@function()
def to_consistent(
    input: Tensor,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    grad_sbp: SbpLike | None = None,
) -> Tensor:
    """`to_global`, as OneFlow 0.5 and 0.6 called it.

    Example:
        >>> import oneflow as flow
        >>> placement = flow.placement("cpu", [0])
        >>> flow.ones(2).to_consistent(placement, flow.sbp.split(0)).is_consistent
        True
    """
    return to_global(input, placement, sbp, grad_sbp=grad_sbp)


def check_meta_consistency(self: Tensor) -> None:
    """Compare what ranks know of a global tensor.

    Raises:
        UnavailableAttributeError: the tensor is local.

    Example:
        >>> import oneflow as flow
        >>> placement = flow.placement("cpu", [0])
        >>> flow.ones(2).to_global(placement, flow.sbp.broadcast).check_meta_consistency()
    """
    _require_global(self, "check_meta_consistency")


def global_id(self: Tensor) -> int:
    """A number that no other global tensor of this process has.

    Example:
        >>> import oneflow as flow
        >>> placement = flow.placement("cpu", [0])
        >>> x, y = (flow.ones(2, placement=placement, sbp=flow.sbp.broadcast) for _ in range(2))
        >>> x.consistent_id() == y.consistent_id()
        False
    """
    _require_global(self, "global_id")
    return id(self)


def is_local(self: Tensor) -> bool:
    """True for a tensor of this process alone, on one device.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2)
        >>> x.is_local, x.to_global(flow.placement("cpu", [0]), flow.sbp.broadcast).is_local
        (True, False)
    """
    return not is_global(self)


attach("is_global", property(is_global))
attach("is_local", property(is_local))
attach("is_consistent", property(is_global))
attach("placement", property(placement))
attach("sbp", property(sbp))
for _method in (check_meta_consistency, global_id):
    attach(_method.__name__, _method)
attach("consistent_id", global_id)
