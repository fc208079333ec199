"""Deterministic runs, which repeat to the last bit."""

from __future__ import annotations

import os
from dataclasses import dataclass

from oneflow.base.environment import EAGER
from oneflow.base.flags import reject_strings
from oneflow.runtime.eager_settings import SETTINGS

_XLA_FLAG = "--xla_gpu_deterministic_ops=true"


@dataclass
class _Determinism:
    enabled: bool = False


_determinism = _Determinism()


@reject_strings
def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Make the same program give the same bits every time it runs, from its first step on.

    A program that is new usually runs operator by operator and is compiled as a whole later; the
    two round differently in the last bit. With `mode` every program is compiled at once, which
    costs time at the start. Sums on a GPU get a fixed order too, if this is called before the first
    tensor is made.

    Args:
        mode: whether to.
        warn_only: accepted; there is no operator that cannot be deterministic.

    Example:
        >>> import oneflow as flow
        >>> flow.use_deterministic_algorithms(True)
        >>> flow.are_deterministic_algorithms_enabled()
        True
        >>> flow.use_deterministic_algorithms(False)
    """
    _determinism.enabled = bool(mode)
    eager_mode = EAGER.read()
    SETTINGS.mode = "compiled" if mode and eager_mode == "deferred" else eager_mode
    flags = os.environ.get("XLA_FLAGS", "")
    if mode and _XLA_FLAG not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {_XLA_FLAG}".strip()


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether `use_deterministic_algorithms` is on.

    Example:
        >>> import oneflow as flow
        >>> flow.are_deterministic_algorithms_enabled()
        False
    """
    return _determinism.enabled
