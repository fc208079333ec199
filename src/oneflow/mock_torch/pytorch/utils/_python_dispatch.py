"""Names of ``torch.utils._python_dispatch``, by which programs see PyTorch's own operators."""

from __future__ import annotations

from typing import Any

from oneflow.mock_torch.missing import Missing


class TorchDispatchMode(Missing):
    """A block in which a class is told of each operator of PyTorch, which are not those here."""

    _reason = (
        "`__torch_function__` of a subclass of tensors sees calls, `oneflow.profiler` operators"
    )


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Return False: no tensor holds others in place of values."""
    return False


__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass"]
