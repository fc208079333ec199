"""Mixed precision on CUDA devices, as `oneflow.cuda.amp`."""

from oneflow.amp.autocast import cuda_autocast as autocast
from oneflow.amp.grad_scaler import GradScaler as GradScaler

__all__ = ["GradScaler", "autocast"]
