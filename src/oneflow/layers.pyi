"""Layers of job functions, with variables of their own."""

# Generated from `base/old_modules.py` by `tools/make_stubs.py` (make stubs).
from oneflow.legacy.layers import (
    batch_normalization as batch_normalization,
    batch_normalization_add_relu as batch_normalization_add_relu,
    batch_normalization_relu as batch_normalization_relu,
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
    dense as dense,
    layer_norm as layer_norm,
    layer_norm_grad as layer_norm_grad,
    layer_norm_param_grad as layer_norm_param_grad,
    prelu as prelu,
    upsample_2d as upsample_2d,
)

# fmt: off
__all__ = [
    "batch_normalization", "batch_normalization_add_relu", "batch_normalization_relu", "conv1d",
    "conv2d", "conv3d", "dense", "layer_norm", "layer_norm_grad", "layer_norm_param_grad", "prelu",
    "upsample_2d",
]
# fmt: on
