"""Names of ``torch._custom_ops`` that libraries import."""

from oneflow.mock_torch.pytorch.library import impl, impl_abstract

__all__ = ["impl", "impl_abstract"]
