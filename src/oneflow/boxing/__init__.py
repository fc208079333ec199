"""Settings of conversions between SBP, which OneFlow has and XLA does not need."""

from oneflow.boxing import nccl as nccl
from oneflow.distributed.boxing_settings import switch as enable_fusion

__all__ = ["enable_fusion", "nccl"]
