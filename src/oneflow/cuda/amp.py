"""Mixed precision on CUDA devices, as `oneflow.cuda.amp`."""

from functools import partial

from oneflow.amp.autocast import cuda_autocast as autocast, custom_bwd as _bwd, custom_fwd as _fwd
from oneflow.amp.grad_scaler import GradScaler as GradScaler

custom_fwd = partial(_fwd, device_type="cuda")
custom_bwd = partial(_bwd, device_type="cuda")

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
