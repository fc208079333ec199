"""Libraries beneath PyTorch that XLA does without."""

from oneflow.mock_torch.pytorch.backends import mkldnn as mkldnn, opt_einsum as opt_einsum

__all__ = ["mkldnn", "opt_einsum"]
