"""Libraries beneath PyTorch, whose switches scripts set; what of them exists beneath XLA."""

from __future__ import annotations

from oneflow.base.device import platform_devices
from oneflow.runtime.matmul_precision import (
    get_float32_matmul_precision,
    set_float32_matmul_precision,
)

# Switches that scripts set. XLA chooses algorithms by itself: setting them changes nothing;
# `oneflow.use_deterministic_algorithms` asks for the same bits every time.
ENABLED, BENCHMARK, DETERMINISTIC, ALLOW_TF32 = True, False, False, True


def has_cuda() -> bool:
    """Return whether XLA has CUDA devices here, and cuDNN with them.

    Example:
        >>> import oneflow as flow
        >>> flow.backends.cudnn.is_available() == flow.cuda.is_available()
        True
    """
    return bool(platform_devices("cuda"))


def is_unavailable() -> bool:
    """Return False: there is no such library here."""
    return False


_PRECISION_OF_NAME = {"ieee": "highest", "tf32": "high", "none": "highest"}


class ProductSwitches:
    """Switches of products of matrices: the precision acts, the others are only kept."""

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False

    @property
    def allow_tf32(self) -> bool:
        """True if factors of float32 are rounded on GPUs."""
        return get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        set_float32_matmul_precision("high" if allowed else "highest")

    @property
    def fp32_precision(self) -> str:
        """The same as ``"tf32"`` or ``"ieee"``."""
        return "tf32" if self.allow_tf32 else "ieee"

    @fp32_precision.setter
    def fp32_precision(self, precision: str) -> None:
        if precision not in _PRECISION_OF_NAME:
            raise RuntimeError(
                f"`fp32_precision` must be one of {sorted(_PRECISION_OF_NAME)}, got {precision!r}"
            )
        set_float32_matmul_precision(_PRECISION_OF_NAME[precision])


MATMUL = ProductSwitches()
