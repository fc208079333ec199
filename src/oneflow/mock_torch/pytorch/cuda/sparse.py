"""Names of ``torch.cuda.sparse``: older constructors."""

from oneflow.mock_torch.pytorch.sparse_types import constructor

BFloat16Tensor = constructor("BFloat16Tensor", "cuda", "torch.cuda.sparse")
ByteTensor = constructor("ByteTensor", "cuda", "torch.cuda.sparse")
CharTensor = constructor("CharTensor", "cuda", "torch.cuda.sparse")
DoubleTensor = constructor("DoubleTensor", "cuda", "torch.cuda.sparse")
FloatTensor = constructor("FloatTensor", "cuda", "torch.cuda.sparse")
HalfTensor = constructor("HalfTensor", "cuda", "torch.cuda.sparse")
IntTensor = constructor("IntTensor", "cuda", "torch.cuda.sparse")
LongTensor = constructor("LongTensor", "cuda", "torch.cuda.sparse")
ShortTensor = constructor("ShortTensor", "cuda", "torch.cuda.sparse")

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
]
