"""Tensors to and from PyTorch."""

import pytest
import torch

import oneflow as flow
from oneflow.utils.tensor import from_torch, to_torch

DTYPES = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "complex64",
    "complex128",
)


@pytest.mark.parametrize("dtype", DTYPES)
def test_both_ways(dtype):
    for shape in ((2, 3), (), (0, 4)):
        theirs = torch.randint(2, shape).to(getattr(torch, dtype))
        theirs = theirs.mT if shape else theirs
        mine = from_torch(theirs)
        assert mine.shape == theirs.shape
        assert str(mine.dtype).removeprefix("oneflow") == str(theirs.dtype).removeprefix("torch")
        back = to_torch(mine)
        assert back.dtype == theirs.dtype
        assert torch.equal(back, theirs)


def test_neither_shares_memory_nor_history():
    theirs = torch.ones(2, requires_grad=True)
    mine = from_torch(theirs * 2)
    assert mine.is_leaf
    assert not mine.requires_grad
    back = to_torch(mine.requires_grad_() * 2)
    assert not back.requires_grad
    back.zero_()
    copy = to_torch(mine)
    copy.zero_()
    assert mine.tolist() == [2, 2]
    assert from_torch(torch.tensor([1 + 2j]).conj()).tolist() == [1 - 2j]


def test_bad_input():
    with pytest.raises(TypeError, match="got list"):
        from_torch([1.0])
    with pytest.raises(TypeError, match="got Tensor"):
        to_torch(torch.ones(1))
    everywhere = flow.ones(2, placement=flow.placement("cpu", [0]), sbp=flow.sbp.broadcast)
    with pytest.raises(RuntimeError, match="to_local"):
        to_torch(everywhere)
