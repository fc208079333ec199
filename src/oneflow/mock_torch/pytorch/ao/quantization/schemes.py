"""The ways in which scales and zero points belong to the elements of a tensor."""

from __future__ import annotations


class qscheme:
    """A way in which scales and zero points belong to the elements of a tensor.

    Args:
        name: its name in PyTorch.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


per_tensor_affine = qscheme("per_tensor_affine")
per_tensor_symmetric = qscheme("per_tensor_symmetric")
per_channel_affine = qscheme("per_channel_affine")
per_channel_symmetric = qscheme("per_channel_symmetric")


def is_per_channel(scheme: qscheme) -> bool:
    """Return whether a scheme has a scale and a zero point for each channel."""
    return scheme in (per_channel_affine, per_channel_symmetric)
