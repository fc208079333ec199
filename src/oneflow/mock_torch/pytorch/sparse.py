"""Names that ``torch.sparse`` has beside `oneflow.sparse`: older constructors."""

from oneflow.mock_torch.pytorch.sparse_gradients import as_sparse_gradcheck
from oneflow.mock_torch.pytorch.sparse_types import constructor

BFloat16Tensor = constructor("BFloat16Tensor", "cpu", "torch.sparse")
ByteTensor = constructor("ByteTensor", "cpu", "torch.sparse")
CharTensor = constructor("CharTensor", "cpu", "torch.sparse")
DoubleTensor = constructor("DoubleTensor", "cpu", "torch.sparse")
FloatTensor = constructor("FloatTensor", "cpu", "torch.sparse")
HalfTensor = constructor("HalfTensor", "cpu", "torch.sparse")
IntTensor = constructor("IntTensor", "cpu", "torch.sparse")
LongTensor = constructor("LongTensor", "cpu", "torch.sparse")
ShortTensor = constructor("ShortTensor", "cpu", "torch.sparse")

__all__ = [
    "BFloat16Tensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "as_sparse_gradcheck",
]
