"""Arguments that all creation functions share: dtype, device, requires_grad, placement and sbp."""

from __future__ import annotations

import operator
import threading
from collections.abc import Sequence
from typing import Any

from oneflow.base.dtype import DType, bool_, complex128, dtype_hint, float64, int64, require_tensors
from oneflow.base.placement import Placement, Sharding, parse_device
from oneflow.base.sbp import nd_sbp_of
from oneflow.base.spec import TensorSpec
from oneflow.tensor.global_values import default_gradient_sbp, fit_sharding
from oneflow.tensor.tensor import Tensor


class GlobalMode(threading.local):
    """Defaults of one thread for new tensors.

    Attributes:
        sharding: the sharding of tensors made without a device or placement; None makes local ones.
    """

    sharding: Sharding | None = None


MODE = GlobalMode()
_INTEGERS = frozenset({int})


def choose_device(device: Any, placement: Any, sbp: Any, default: Any = None) -> Any:
    """The device or sharding of a new tensor, from the arguments `device`, `placement` and `sbp`.

    Without placement and sbp, `oneflow.utils.global_view.global_mode` determines both.

    Raises:
        ValueError: a device and a placement, or one of placement and sbp without the other.
        TypeError: `placement` or `sbp` is something else.
    """
    if placement is None and sbp is None:
        sharding = None if isinstance(device, Placement | Sharding) else MODE.sharding
        return parse_device(device, default) if sharding is None else sharding
    if device is not None:
        raise ValueError("give `device` for a local tensor, or `placement` and `sbp`, not both")
    return make_sharding(placement, sbp)


def choose_device_like(
    spec: TensorSpec, device: Any, placement: Any, sbp: Any, ndim: int | None = None
) -> Any:
    """The device or sharding of a tensor like another one: that one's unless arguments differ.

    Partial sums are broadcast, and so are splits of a dimension that the new tensor does not have.
    `sbp` may be given alone for a global tensor.

    Args:
        spec: the spec of the other tensor.
        device: as the user gave it, like the rest; None for what was not given.
        placement: the placement of a global tensor.
        sbp: signatures of a global tensor.
        ndim: number of dimensions of the new tensor, by default as many as the other one has.

    Raises:
        ValueError: a device and a placement, or one of placement and sbp without the other.
        TypeError: `placement` or `sbp` is something else.
    """
    if placement is None and sbp is None:
        if device is None and spec.sbp is not None:
            sharding = Sharding(spec.device, default_gradient_sbp(spec.sbp))
            return fit_sharding(sharding, spec.ndim if ndim is None else ndim)
        return parse_device(device, spec.device)
    if device is None and placement is None and spec.sbp is not None:
        placement = spec.device
    return choose_device(device, placement, sbp)


def make_sharding(placement: Any, sbp: Any, ndim: int | None = None) -> Sharding:
    """Make a sharding from arguments of a user, for a tensor of `ndim` dimensions if known."""
    if placement is None or sbp is None:
        missing = "placement" if placement is None else "sbp"
        raise ValueError(f"a global tensor needs `placement` and `sbp`; `{missing}` is missing")
    if not isinstance(placement, Placement):
        raise TypeError(f"`placement` must be a oneflow.placement, got {placement!r}")
    return Sharding(placement, nd_sbp_of(sbp, placement.ndim, ndim))


# Python's number types, which name dtypes as well.
_PYTHON_TYPES: dict[Any, DType] = {bool: bool_, int: int64, float: float64, complex: complex128}


def as_dtype(dtype: Any) -> DType:
    """A dtype; a Python number type names its default dtype.

    Raises:
        TypeError: neither of them, or a dtype that no tensor has.
    """
    if type(dtype) is DType:
        return dtype
    if isinstance(dtype, DType):
        return require_tensors(dtype)
    if isinstance(dtype, type) and dtype in _PYTHON_TYPES:
        return _PYTHON_TYPES[dtype]
    raise TypeError(f"`dtype` must be a oneflow.dtype, got {dtype!r}{dtype_hint(dtype)}")


def checked_dtype(dtype: Any, default: DType) -> DType:
    """The dtype meant by a `dtype=` argument; raises TypeError if it is not one."""
    return default if dtype is None else as_dtype(dtype)


def with_grad(tensor: Tensor, requires_grad: bool) -> Tensor:
    """A new tensor, with `requires_grad` set."""
    return tensor.requires_grad_() if requires_grad else tensor


def sizes_of(sizes: Sequence[Any], name: str = "size") -> tuple[int, ...]:
    """Sizes given as separate numbers or as one sequence; 0-dim integer tensors count as numbers.

    Raises:
        TypeError: something that is not an integer.
    """
    if len(sizes) == 1 and type(sizes[0]) is not int and isinstance(sizes[0], Sequence):
        sizes = sizes[0]
    if _INTEGERS.issuperset(map(type, sizes)):
        return tuple(sizes)
    try:
        return tuple([operator.index(size) for size in sizes])
    except TypeError:
        raise TypeError(f"`{name}` must be integers, got {tuple(sizes)!r}") from None


def new_shape(sizes: Sequence[Any]) -> tuple[int, ...]:
    """The shape of a new tensor.

    Raises:
        RuntimeError: a negative size.
    """
    shape = sizes_of(sizes)
    if any(size < 0 for size in shape):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
        )
    return shape
