"""Functions that make tensors in the layout that they are given, and what sparse ones share."""

from __future__ import annotations

import pytest
import torch

import oneflow as flow


@pytest.mark.parametrize("function", [flow.zeros_like, flow.empty_like])
@pytest.mark.parametrize(
    "options",
    [{}, {"dtype": flow.float64}, {"requires_grad": True}, {"memory_format": flow.preserve_format}],
    ids=str,
)
def test_tensors_like_a_sparse_one_store_nothing(function, options):
    x = function(flow.eye(3).to_sparse(), **options)
    assert (x.layout, x.shape, x._nnz()) == (flow.sparse_coo, (3, 3), 0)
    assert x.dtype == options.get("dtype", flow.float32)
    assert x.requires_grad == options.get("requires_grad", False)


ZEROS = {
    "zeros": lambda lib, **options: lib.zeros(2, 3, **options),
    "empty": lambda lib, **options: lib.empty(2, 3, **options),
    "zeros_like": lambda lib, **options: lib.zeros_like(lib.ones(2, 3), **options),
    "zeros_like, sparse": lambda lib, **options: lib.zeros_like(
        lib.ones(2, 3).to_sparse(), **options
    ),
    "new_zeros": lambda lib, **options: lib.ones(1).new_zeros(2, 3, **options),
    "new_empty, sparse": lambda lib, **options: (
        lib.ones(1).to_sparse().new_empty((2, 3), **options)
    ),
}


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("layout", ["strided", "sparse_coo", "sparse_csr", "sparse_csc"])
@pytest.mark.parametrize("name", ZEROS)
@pytest.mark.parametrize(
    "options", [{}, {"dtype": "int32"}, {"requires_grad": True}, {"device": "meta"}], ids=str
)
def test_functions_make_tensors_in_the_layout_that_they_are_given(name, layout, options):
    def made(lib):
        named = {"layout": getattr(lib, layout), **options}
        if "dtype" in named:
            named["dtype"] = getattr(lib, named["dtype"])
        x = ZEROS[name](lib, **named)
        stored = x._nnz() if layout == "sparse_coo" else None
        facts = x.layout, x.dtype, x.device.type, x.requires_grad
        return (*[str(fact).rpartition(".")[2] for fact in facts], tuple(x.shape), stored)

    assert made(flow) == made(torch)


MAKERS = {
    "ones": lambda **options: flow.ones(2, **options),
    "full": lambda **options: flow.full((2,), 1.0, **options),
    "rand": lambda **options: flow.rand(2, **options),
    "randint": lambda **options: flow.randint(3, (2,), **options),
    "randperm": lambda **options: flow.randperm(3, **options),
    "arange": lambda **options: flow.arange(3, **options),
    "eye": lambda **options: flow.eye(3, **options),
    "normal": lambda **options: flow.normal(0.0, 1.0, (2,), **options),
    "tril_indices": lambda **options: flow.tril_indices(2, 2, **options),
    "hann_window": lambda **options: flow.hann_window(3, **options),
    "ones_like": lambda **options: flow.ones_like(flow.ones(2), **options),
    "tensor": lambda **options: flow.tensor([1.0], **options),
}


@pytest.mark.parametrize("name", MAKERS)
def test_functions_of_other_elements_than_0_refuse_layouts_of_sparse_tensors(name):
    assert MAKERS[name](layout=flow.strided).layout is flow.strided
    with pytest.raises(NotImplementedError, match="makes tensors of layout strided"):
        MAKERS[name](layout=flow.sparse_coo)


def test_arguments_keep_shapes_of_their_own():
    index, values = flow.tensor([[0], [1]]), flow.tensor([[3.0, 4.0]])
    x = flow.sparse_coo_tensor(index, values, (1, 2, 2))
    index.resize_(1, 2)
    values.t_()
    assert (x._indices().shape, x._values().shape) == ((2, 1), (1, 2))
    values[0] = 7
    assert x.to_dense().tolist() == [[[0.0, 0.0], [7.0, 4.0]]]


def test_zero_norm_items_and_arrays():
    x = flow.tensor([[3.0, 0.0], [0.0, 4.0]]).to_sparse()
    assert x.norm().item() == 5
    assert x.to_sparse_csr().norm().item() == 5
    assert [row.to_dense().tolist() for row in x] == [[3.0, 0.0], [0.0, 4.0]]
    with pytest.raises(TypeError, match="to_dense"):
        x.numpy()
    assert x.zero_() is x
    assert (x._nnz(), x.shape) == (0, (2, 2))
