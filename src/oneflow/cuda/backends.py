"""Libraries beneath PyTorch, whose switches scripts set; what of them exists beneath XLA."""

from __future__ import annotations

from oneflow.base.device import platform_devices

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
