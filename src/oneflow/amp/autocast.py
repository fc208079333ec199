"""`autocast`: operators inside run in the precision that they declare."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from copy import copy
from typing import Any

from oneflow.base.device import DEVICE_TYPES, TYPES_WITHOUT_ARRAYS
from oneflow.base.dtype import HALF_DTYPES, DType, float64
from oneflow.dispatch.mixed_precision import OperandCast, casting_targets
from oneflow.dispatch.operand_casts import CASTS, set_operand_casts
from oneflow.tensor.tensor import Tensor


class _AutocastState(threading.local):
    """The dtypes that one thread casts to by default."""

    def __init__(self) -> None:
        self.defaults = {
            name: device_type.half_precision for name, device_type in DEVICE_TYPES.items()
        }
        self.cached = True


_STATE = _AutocastState()


def autocast_state() -> tuple[Any, ...]:
    """The dtypes that this thread casts to, now and by default; to compare and to hash."""
    targets = tuple(casting_targets().items()) if CASTS.functions else ()
    return targets, tuple(_STATE.defaults.items())


def _set_target(device_type: str, dtype: DType | None) -> None:
    """Turn mixed precision on or off for a device type; None is off."""
    targets = {**casting_targets(), device_type: dtype}
    used_targets = {name: target for name, target in targets.items() if target is not None}
    others = tuple(
        [function for function in CASTS.functions if not isinstance(function, OperandCast)]
    )
    set_operand_casts((*others, OperandCast(used_targets)) if used_targets else others)


class autocast:
    """Context manager or decorator: automatic mixed precision.

    Products and convolutions inside take half precision, and what needs precision takes float32.
    Use it around the forward pass and the loss, and call `backward` outside.

    Args:
        device_type: ``"cpu"``, ``"cuda"`` or ``"tpu"``.
        dtype: `oneflow.float16` or `oneflow.bfloat16`; default float16 on CUDA devices, bfloat16
            on all others.
        enabled: False turns mixed precision off inside.
        cache_enabled: accepted; the compiler casts a weight once however often it is used.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2, 2)
        >>> with flow.autocast("cpu"):
        ...     (x @ x).dtype, (x @ x).sum().dtype
        (oneflow.bfloat16, oneflow.float32)
    """

    def __init__(
        self,
        device_type: str,
        dtype: DType | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if dtype is not None and dtype not in HALF_DTYPES:
            raise RuntimeError(f"`dtype` must be float16 or bfloat16, got {dtype}")
        self._device_type = _known_type(device_type)
        self._dtype = dtype
        self._enabled = bool(enabled)
        self._before: list[DType | None] = []

    def __enter__(self) -> autocast:
        dtype = self._dtype or _STATE.defaults[self._device_type]
        self._before.append(casting_targets().get(self._device_type))
        _set_target(self._device_type, dtype if self._enabled else None)
        return self

    def __exit__(self, *exception: object) -> None:
        _set_target(self._device_type, self._before.pop())

    def fresh(self) -> autocast:
        """One like it, which has not been entered."""
        other = copy(self)
        other._before = []
        return other

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """`func` with mixed precision inside."""
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance: autocast, func: Callable[..., Any]) -> Callable[..., Any]:
    """`func` running inside `autocast_instance`.

    Example:
        >>> import oneflow as flow
        >>> autocast = flow.amp.autocast("cpu", dtype=flow.bfloat16)
        >>> product = flow.amp.autocast_decorator(autocast, flow.matmul)
        >>> product(flow.ones(2, 2), flow.ones(2, 2)).dtype
        oneflow.bfloat16
    """

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        # Several threads may be in here at once.
        with autocast_instance.fresh():
            return func(*args, **kwargs)

    return decorated


class cuda_autocast(autocast):
    """`autocast` for CUDA devices: ``oneflow.cuda.amp.autocast``."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: DType | None = None,
        cache_enabled: bool | None = None,
    ) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return whether mixed precision is on for a type of devices."""
    return device_type not in TYPES_WITHOUT_ARRAYS and _known_type(device_type) in casting_targets()


def is_autocast_available(device_type: str) -> bool:
    """Return whether there is mixed precision for a type of devices.

    Example:
        >>> import oneflow as flow
        >>> flow.amp.is_autocast_available("cpu"), flow.amp.is_autocast_available("meta")
        (True, False)
    """
    return device_type not in TYPES_WITHOUT_ARRAYS and bool(_known_type(device_type))


def set_autocast_enabled(*arguments: Any) -> None:
    """Turn mixed precision on or off until it is set again.

    Args:
        arguments: the device type, by default ``"cuda"``, and whether it is on.

    Example:
        >>> import oneflow as flow
        >>> flow.set_autocast_enabled("cpu", True)
        >>> flow.is_autocast_enabled("cpu"), flow.get_autocast_dtype("cpu")
        (True, oneflow.bfloat16)
        >>> flow.set_autocast_enabled("cpu", False)
    """
    device_type, enabled = arguments if len(arguments) == 2 else ("cuda", *arguments)
    _set_target(device_type, get_autocast_dtype(device_type) if enabled else None)


def get_autocast_dtype(device_type: str) -> DType:
    """Return the half precision that `autocast` takes if it is given none, or is on with."""
    default = _STATE.defaults[_known_type(device_type)]
    return casting_targets().get(device_type, default)


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Set the half precision that `autocast` takes on a type of devices if it is given none.

    Example:
        >>> import oneflow as flow
        >>> flow.set_autocast_dtype("cpu", flow.float16)
        >>> flow.get_autocast_cpu_dtype()
        oneflow.float16
        >>> flow.set_autocast_cpu_dtype(flow.bfloat16)
        >>> flow.set_autocast_gpu_dtype(flow.get_autocast_gpu_dtype())
    """
    _STATE.defaults[_known_type(device_type)] = dtype


def _known_type(device_type: str) -> str:
    if device_type not in DEVICE_TYPES:
        names = tuple(DEVICE_TYPES)
        raise RuntimeError(f"`device_type` must be one of {names}, got {device_type!r}")
    return device_type


def get_autocast_cpu_dtype() -> DType:
    """Half precision that `autocast` takes on the CPU if it is given none."""
    return _STATE.defaults["cpu"]


def set_autocast_cpu_dtype(dtype: DType) -> None:
    """Set the half precision that `autocast` takes on the CPU if it is given none."""
    _STATE.defaults["cpu"] = dtype


def get_autocast_gpu_dtype() -> DType:
    """Half precision that `autocast` takes on CUDA devices if it is given none."""
    return _STATE.defaults["cuda"]


def set_autocast_gpu_dtype(dtype: DType) -> None:
    """Set the half precision that `autocast` takes on CUDA devices if it is given none."""
    _STATE.defaults["cuda"] = dtype


def is_autocast_cache_enabled() -> bool:
    """The value of `set_autocast_cache_enabled`; the compiler casts each weight once anyway."""
    return _STATE.cached


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Accepted for PyTorch's sake; the compiler casts each weight once anyway.

    Example:
        >>> import oneflow as flow
        >>> flow.set_autocast_cache_enabled(False)
        >>> flow.is_autocast_cache_enabled()
        False
        >>> flow.set_autocast_cache_enabled(True)
        >>> flow.clear_autocast_cache()
    """
    _STATE.cached = bool(enabled)


def clear_autocast_cache() -> None:
    """Accepted for PyTorch's sake; there is no cache."""


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: DType | None = None
) -> Callable[..., Any]:
    """Decorator of the `forward` of an `autograd.Function` that is called under `autocast`.

    Args:
        fwd: the function; without one, a decorator is returned.
        device_type: ``"cpu"``, ``"cuda"`` or ``"tpu"``.
        cast_inputs: under mixed precision tensors of floats are cast to this dtype, and the
            function runs without; default: it runs as it would anyway.

    Example:
        >>> import oneflow as flow
        >>> class Square(flow.autograd.Function):
        ...     @staticmethod
        ...     @flow.amp.custom_fwd(device_type="cpu", cast_inputs=flow.float32)
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x @ x
        ...
        ...     @staticmethod
        ...     @flow.amp.custom_bwd(device_type="cpu")
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return grad @ x.T + x.T @ grad
        >>> with flow.autocast("cpu"):
        ...     Square.apply(flow.ones(2, 2, dtype=flow.bfloat16)).dtype
        oneflow.float32
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        is_on = is_autocast_enabled(device_type)
        casts = is_on and cast_inputs is not None
        ctx._autocast = autocast(device_type, get_autocast_dtype(device_type), is_on and not casts)
        if casts:
            args = tuple([_cast_tensor(arg, device_type, cast_inputs) for arg in args])
            kwargs = {
                name: _cast_tensor(arg, device_type, cast_inputs) for name, arg in kwargs.items()
            }
        with ctx._autocast.fresh():
            return fwd(ctx, *args, **kwargs)

    return decorated


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorator of the `backward` that belongs to a `forward` with `custom_fwd`.

    Both run under mixed precision, or neither does.

    Args:
        bwd: the function; without one, a decorator is returned.
        device_type: the same as for `custom_fwd`.

    Example:
        >>> import oneflow as flow
        >>> class Square(flow.autograd.Function):
        ...     @staticmethod
        ...     @flow.amp.custom_fwd(device_type="cpu")
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...
        ...     @staticmethod
        ...     @flow.amp.custom_bwd(device_type="cpu")
        ...     def backward(ctx, g):
        ...         return 2 * ctx.saved_tensors[0] * g
        >>> x = flow.tensor(3.0, requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad.item()
        6.0
    """
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with ctx._autocast.fresh():
            return bwd(ctx, *args, **kwargs)

    return decorated


def _cast_tensor(value: Any, device_type: str, dtype: DType | None) -> Any:
    """A tensor of floats on such a device in `dtype`; all else as it is.

    Float64 stays, as in PyTorch.
    """
    if not isinstance(value, Tensor) or value.device.type != device_type:
        return value
    is_float = value.dtype.is_floating_point and value.dtype is not float64
    return value.to(dtype) if is_float else value
