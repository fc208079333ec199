"""Older constructors of sparse tensors, and the names of sparse types, beside PyTorch's."""

from __future__ import annotations

import pytest
import torch

from oneflow import mock_torch
from tests.in_place import in_place_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse"),
    pytest.mark.filterwarnings("ignore:torch.sparse.SparseTensor"),
]
TYPES = [name for name in dir(torch.cuda.sparse) if name.endswith("Tensor")]
# Programs of a library, its constructor of float32, positions and values.
CALLS = {
    "positions and values": lambda lib, make, at, x: make(at, x),
    "a size": lambda lib, make, at, x: make(at, x, lib.Size([2, 3])),
    "a list as size": lambda lib, make, at, x: make(at, x, [2, 3]),
    "another dtype": lambda lib, make, at, x: make(at, x.double()),
    "sizes": lambda lib, make, at, x: make(2, 3),
    "a size alone": lambda lib, make, at, x: make(lib.Size([2, 3])),
    "nothing": lambda lib, make, at, x: make(),
}
# Questions of programs about a sparse tensor, the same with all elements, and the constructor.
QUESTIONS = {
    "name": lambda lib, make, sparse, dense: sparse.type(),
    "typename": lambda lib, make, sparse, dense: lib.typename(sparse),
    "dtype": lambda lib, make, sparse, dense: str(make.dtype),
    "layout": lambda lib, make, sparse, dense: str(make.layout),
    "class": lambda lib, make, sparse, dense: repr(make),
    "sparse is sparse": lambda lib, make, sparse, dense: isinstance(sparse, make),
    "dense is sparse": lambda lib, make, sparse, dense: isinstance(dense, make),
    "sparse is dense": lambda lib, make, sparse, dense: isinstance(sparse, lib.FloatTensor),
    "double is float": lambda lib, make, sparse, dense: isinstance(sparse.double(), make),
    "to a type": lambda lib, make, sparse, dense: str(sparse.type(lib.sparse.DoubleTensor).dtype),
    "to a dtype": lambda lib, make, sparse, dense: str(sparse.type(lib.float64).dtype),
    "to a name": lambda lib, make, sparse, dense: sparse.type("torch.sparse.IntTensor").type(),
}


def in_both(run):
    """Results of a function of a library: of PyTorch, and of what is in its place."""
    theirs = run(torch)
    with mock_torch.enable():
        return theirs, run(in_place_of("torch"))


@pytest.mark.parametrize("call", CALLS)
def test_constructors(call):
    def run(lib):
        at, values = lib.tensor([[0, 1], [1, 0]]), lib.tensor([1.0, 2.0])
        x = CALLS[call](lib, lib.sparse.FloatTensor, at, values)
        return x.is_sparse, tuple(x.shape), str(x.dtype), x.to_dense().tolist()

    theirs, ours = in_both(run)
    assert ours == theirs


def test_constructors_refuse_dense_data():
    for lib in (torch, in_place_of("torch")):
        with pytest.raises(TypeError):
            lib.sparse.FloatTensor(lib.ones(2, 2))


@pytest.mark.parametrize("question", QUESTIONS)
def test_types(question):
    def run(lib):
        dense = lib.tensor([[0.0, 2.0], [3.0, 0.0]])
        return QUESTIONS[question](lib, lib.sparse.FloatTensor, dense.to_sparse(), dense)

    theirs, ours = in_both(run)
    assert ours == theirs


@pytest.mark.parametrize("name", TYPES)
def test_all_types_exist(name):
    def run(lib):
        kinds = (getattr(lib.sparse, name), getattr(lib.cuda.sparse, name))
        return [(repr(kind), str(kind.dtype)) for kind in kinds]

    theirs, ours = in_both(run)
    assert ours == theirs
