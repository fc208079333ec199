"""``torch.autograd.forward_ad``: no tensor has a tangent; `oneflow.func.jvp` takes them."""

from __future__ import annotations

from typing import Any, NamedTuple

from oneflow.mock_torch.missing import Missing


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent."""

    primal: Any
    tangent: Any


class dual_level(Missing):  # PyTorch's name
    """The type of contexts in which tensors carry tangents."""

    _reason = "tensors carry no tangents; `oneflow.func.jvp` gives products with a Jacobian"


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """Return a tensor and its tangent, which is None."""
    return UnpackedDualTensor(tensor, None)


__all__ = ["UnpackedDualTensor", "dual_level", "unpack_dual"]
