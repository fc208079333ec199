"""The precision of products of float32 matrices, where the device has several."""

from __future__ import annotations

import warnings

import jax

# PyTorch's names, with JAX's.
_JAX_NAMES = {"highest": "highest", "high": "high", "medium": "default"}


def set_float32_matmul_precision(precision: str) -> None:
    """Choose how exactly products of float32 matrices, and convolutions, are computed.

    On the CPU all are. Call it before the first tensor is made: operations that have been compiled
    stay as they are.

    Args:
        precision: ``"highest"``: in float32. ``"high"``, the default, as in OneFlow: GPUs round the
            operands to TensorFloat-32. ``"medium"``: in what is fastest on the device. Any other
            name has no effect but a warning, as in PyTorch.

    Example:
        >>> import oneflow as flow
        >>> before = flow.get_float32_matmul_precision()
        >>> flow.set_float32_matmul_precision("highest")
        >>> flow.get_float32_matmul_precision()
        'highest'
        >>> flow.set_float32_matmul_precision(before)
    """
    if precision not in _JAX_NAMES:
        warnings.warn(
            f"`precision` {precision!r} has no effect: it must be one of {sorted(_JAX_NAMES)}",
            stacklevel=2,
        )
        return
    jax.config.update("jax_default_matmul_precision", _JAX_NAMES[precision])


def get_float32_matmul_precision() -> str:
    """Return what `set_float32_matmul_precision` was given last.

    Example:
        >>> import oneflow as flow
        >>> flow.get_float32_matmul_precision() in ("highest", "high", "medium")
        True
    """
    jax_name = jax.config.values["jax_default_matmul_precision"]
    return next((name for name, candidate in _JAX_NAMES.items() if candidate == jax_name), "high")
