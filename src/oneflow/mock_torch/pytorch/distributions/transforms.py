"""Names that ``torch.distributions.transforms`` has beside `oneflow.distributions.transforms`."""

from oneflow import Tensor
from oneflow.distributions.transforms import SigmoidTransform

_SIGMOID = SigmoidTransform()


def _clamped_sigmoid(x: Tensor) -> Tensor:
    """Return the logistic function, kept inside of (0, 1)."""
    return _SIGMOID(x)


_clipped_sigmoid = _clamped_sigmoid

__all__ = ["_clamped_sigmoid", "_clipped_sigmoid"]
