"""Names of ``torch.ao``."""

from oneflow.mock_torch.pytorch.ao import quantization as quantization
