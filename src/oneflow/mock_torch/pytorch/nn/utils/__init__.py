"""Names that ``torch.nn.utils`` has beside `oneflow.nn.utils`."""

from oneflow.mock_torch.pytorch.nn.utils.clip_grad import clip_grad_norm as clip_grad_norm
from oneflow.mock_torch.pytorch.nn.utils.memory_format import (
    convert_conv2d_weight_memory_format as convert_conv2d_weight_memory_format,
    convert_conv3d_weight_memory_format as convert_conv3d_weight_memory_format,
)

__all__ = [
    "clip_grad_norm",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
]
