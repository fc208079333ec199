"""Names that ``torch.amp.grad_scaler`` has beside `oneflow.amp.grad_scaler`."""

from oneflow.amp.optimizer_stage import (
    OptState as OptState,
    _refresh_per_optimizer_state as _refresh_per_optimizer_state,
)

__all__ = ["OptState"]
