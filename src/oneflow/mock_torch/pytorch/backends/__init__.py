"""Libraries beneath PyTorch that XLA does without."""

from oneflow.mock_torch.pytorch.backends import (
    cpu as cpu,
    mha as mha,
    mkl as mkl,
    mkldnn as mkldnn,
    nnpack as nnpack,
    openmp as openmp,
    opt_einsum as opt_einsum,
    quantized as quantized,
)

__all__ = ["cpu", "mha", "mkl", "mkldnn", "nnpack", "openmp", "opt_einsum", "quantized"]
