"""The module in which PyTorch keeps the type of compiled modules."""

from oneflow.mock_torch.pytorch.compiled_module import OptimizedModule as OptimizedModule
