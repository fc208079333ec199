"""Switches of cuDNN; XLA chooses algorithms by itself, so that setting them changes nothing."""

from oneflow.cuda.backends import (
    ALLOW_TF32 as allow_tf32,
    BENCHMARK as benchmark,
    DETERMINISTIC as deterministic,
    ENABLED as enabled,
    has_cuda as is_available,
)

__all__ = ["allow_tf32", "benchmark", "deterministic", "enabled", "is_available"]
