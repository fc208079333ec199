"""How conversions between SBP run: settings of OneFlow that XLA does not need."""

from oneflow.boxing import nccl as nccl
from oneflow.distributed.boxing_settings import switch as enable_fusion

__all__ = ["enable_fusion", "nccl"]
