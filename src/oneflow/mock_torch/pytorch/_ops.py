"""Names of ``torch._ops``."""

from oneflow.mock_torch.missing import MissingTracing
from oneflow.mock_torch.pytorch.aten import OpOverload, OpOverloadPacket


class HigherOrderOperator(MissingTracing):
    """The type of operators on functions by which PyTorch traces."""


__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket"]
