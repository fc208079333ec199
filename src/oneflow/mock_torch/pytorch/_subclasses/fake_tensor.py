"""Names of ``torch._subclasses.fake_tensor``: ``device="meta"`` has tensors without data."""

from __future__ import annotations

from typing import Any

from oneflow.mock_torch.missing import MissingTracing


class FakeTensor(MissingTracing):
    """The type of tensors without data by which PyTorch traces."""


class FakeTensorMode(MissingTracing):
    """The type of contexts in which PyTorch traces."""


def is_fake(x: Any) -> bool:
    """Return False: there are no such tensors."""
    return False


__all__ = ["FakeTensor", "FakeTensorMode", "is_fake"]
