"""Names of ``torch._library.infer_schema``."""

from oneflow.mock_torch.pytorch.operator_schema import infer_schema

__all__ = ["infer_schema"]
