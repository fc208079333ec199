"""Libraries beneath PyTorch that XLA does without."""

from oneflow.mock_torch.pytorch.backends import (
    cpu as cpu,
    mha as mha,
    mkldnn as mkldnn,
    opt_einsum as opt_einsum,
    quantized as quantized,
)
