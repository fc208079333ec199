"""Sparse tensors as arguments, results and saved tensors of `autograd.Function`, beside PyTorch."""

from __future__ import annotations

import pytest
import torch

import oneflow as flow

# PyTorch says that its sparse tensors are young.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse")

INDEX = [[0, 1, 1], [2, 0, 2]]


def sparse_of(library, *, requires_grad=False, layout="sparse_coo"):
    x = library.sparse_coo_tensor(INDEX, [3.0, 4.0, 5.0], (2, 3)).coalesce()
    x = x if layout == "sparse_coo" else x.to_sparse_csr()
    return x.detach().requires_grad_(requires_grad)


def product(library, *, sparse_gradient=False):
    """The product with a dense matrix, as GPyTorch writes it."""

    class Product(library.autograd.Function):
        @staticmethod
        def forward(ctx, x, dense):
            ctx.save_for_backward(x, dense)
            return x.to_dense() @ dense

        @staticmethod
        def backward(ctx, grad):
            x, dense = ctx.saved_tensors
            assert x.is_sparse or x.layout is library.sparse_csr
            wide = grad @ dense.t()
            if sparse_gradient:
                # Also where `x` is nothing; not in its order.
                wide = wide.to_sparse()
            return wide if ctx.needs_input_grad[0] else None, x.to_dense().t() @ grad

    return Product


def doubled(library):
    class Doubled(library.autograd.Function):
        @staticmethod
        def forward(ctx, values):
            return library.sparse_coo_tensor(INDEX, 2 * values, (2, 3))

        @staticmethod
        def backward(ctx, grad):
            at = library.tensor(INDEX)
            return 2 * grad.to_dense()[at[0], at[1]]

    return Doubled


def gradients(library, case):
    dense = library.arange(6.0).reshape(3, 2).requires_grad_()
    layout = "sparse_csr" if "csr" in case else "sparse_coo"
    x = sparse_of(library, requires_grad="constant" not in case, layout=layout)
    y = product(library, sparse_gradient="sparse gradient" in case).apply(x, dense)
    (y * library.arange(4.0).reshape(2, 2)).sum().backward()
    of_sparse = None if x.grad is None else x.grad.to_dense()
    return y, dense.grad, of_sparse


@pytest.mark.parametrize("case", ["constant", "constant csr", "dense gradient", "sparse gradient"])
def test_sparse_arguments(case):
    theirs, ours = gradients(torch, case), gradients(flow, case)
    # PyTorch keeps the gradient at all positions, here it is that of the values.
    mask = sparse_of(torch).to_dense() != 0
    expected = [*theirs[:2], None if theirs[2] is None else theirs[2] * mask]
    for their, our in zip(expected, ours, strict=True):
        assert (their is None) == (our is None)
        if their is not None:
            assert their.tolist() == our.tolist()


def test_sparse_results():
    def run(library):
        values = library.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = doubled(library).apply(values)
        assert y.is_sparse
        assert y.requires_grad
        (y.to_dense() * library.arange(6.0).reshape(2, 3)).sum().backward()
        return y.detach().to_dense().tolist(), values.grad.tolist()

    assert run(flow) == run(torch)


def test_sparse_gradients_of_dense_arguments():
    def run(library):
        class Row(library.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x[1] * 3

            @staticmethod
            def backward(ctx, grad):
                return library.sparse_coo_tensor([[1]], 3 * grad[None], (4, 2))

        x = library.ones(4, 2, requires_grad=True)
        Row.apply(x).sum().backward()
        return x.grad.to_dense().tolist()

    assert run(flow) == run(torch)


VALUES = [1.0, 2.0]
WRITTEN = {
    "made of a leaf": lambda f, values: f.sparse_coo_tensor([[0, 1], [1, 0]], values, (2, 2)),
    "computed": lambda f, values: f.sparse_coo_tensor([[0, 1], [1, 0]], values, (2, 2)) * 1,
    "compressed": lambda f, values: f.sparse_csr_tensor([0, 1, 2], [1, 0], values, (2, 2)),
    "leaf": lambda f, values: f.eye(2).to_sparse().requires_grad_(),
    "compressed leaf": lambda f, values: f.eye(2).to_sparse_csr().requires_grad_(),
    "leaf by option": lambda f, values: f.sparse_coo_tensor(
        [[0, 1], [1, 0]], values.detach(), (2, 2), requires_grad=True
    ),
    "constant": lambda f, values: f.eye(2).to_sparse(),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_sparse_argument_that_is_written_to_is_the_result_unless_it_is_a_leaf(name):
    def run(library):
        class Scaled(library.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x.mul_(3)

            @staticmethod
            def backward(ctx, grad):
                return grad * 3

        values = library.tensor(VALUES, requires_grad=True)
        x = WRITTEN[name](library, values)
        is_leaf = x.is_leaf
        try:
            y = Scaled.apply(x)
        except RuntimeError as error:
            return is_leaf, str(error)
        if name == "computed":  # PyTorch's constructors refuse gradients of what is written to
            y.to_dense().sum().backward()
            assert values.grad.tolist() == [3.0, 3.0]
        return is_leaf, y is x, y.requires_grad, x.detach().to_dense().tolist()

    assert run(flow) == run(torch)


def test_a_sparse_tensor_of_a_leaf_has_the_history_of_its_values():
    def run(library):
        values = library.tensor(VALUES, requires_grad=True)
        x = WRITTEN["made of a leaf"](library, values)
        with library.no_grad():
            constants = [make(library, values) for make in list(WRITTEN.values())[:3]]
        x.to_dense().sum().backward()
        gradients = values.grad.tolist(), x.is_leaf, x.grad_fn is None
        return gradients, [constant.requires_grad for constant in constants]

    assert run(flow) == run(torch)
