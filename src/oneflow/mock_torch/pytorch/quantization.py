"""``torch.quantization``: the former path of ``torch.ao.quantization``."""

from oneflow.mock_torch.pytorch.ao.quantization import *  # noqa: F403
from oneflow.mock_torch.pytorch.ao.quantization import __all__ as __all__
