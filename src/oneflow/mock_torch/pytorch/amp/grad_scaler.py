"""Names that ``torch.amp.grad_scaler`` has beside `oneflow.amp.grad_scaler`."""

import enum


class OptState(enum.Enum):
    """The last action on the gradients of an optimizer since `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


__all__ = ["OptState"]
