"""Products with sparse results, tensors side by side, other sizes, hooks and shared memory."""

from __future__ import annotations

import copy
import gc
import weakref

import pytest
import torch

import oneflow as flow
from oneflow.tensor.composed import composed_form
from tests.in_place import in_place_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse"),
    pytest.mark.filterwarnings("ignore:.*Sparse CSR tensor support"),
]

OURS = in_place_of("torch")
DENSE = [[1.0, -2.0], [0.5, 3.0], [4.0, 0.0]]


def matrix(f, layout="sparse_coo", requires_grad=False):
    x = f.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 3.0]])
    return x.to_sparse(layout=getattr(f, layout)).requires_grad_(requires_grad)


def twice(f):
    return f.sparse_coo_tensor([[0, 0, 2], [1, 1, 0]], [1.0, 2.0, 3.0], (3, 3))


def rows(f):
    return f.sparse_coo_tensor([[0, 2]], [[1.0, 2.0], [3.0, 4.0]], (3, 2)).coalesce()


def facts(x):
    """The facts about a result, in both packages."""
    if isinstance(x, tuple):
        return x
    if not hasattr(x, "layout"):
        return x
    layout = str(x.layout).rpartition(".")[2]
    if layout != "sparse_coo":
        return layout, tuple(x.shape), x.to_dense().tolist(), x.requires_grad
    parts = x._indices().tolist(), x._values().tolist()
    return layout, tuple(x.shape), *parts, x.is_coalesced(), x.requires_grad


# Functions of a package and a dense matrix of three rows.
RESULTS = {
    "hspmm": lambda f, d: f.hspmm(matrix(f), d),
    "hspmm of positions twice": lambda f, d: f.hspmm(twice(f), d),
    "hspmm of nothing": lambda f, d: f.hspmm(f.sparse_coo_tensor((3, 3)), d),
    "hspmm of integers": lambda f, d: f.hspmm(matrix(f).long(), d.long()),
    "hspmm into": lambda f, d: f.hspmm(matrix(f), d, out=rows(f).to_dense().to_sparse(1)),
    "sspaddmm into": lambda f, d: f.sspaddmm(
        matrix(f), matrix(f), f.ones(3, 3), out=f.zeros(3, 3).to_sparse()
    ),
    "hsmm": lambda f, d: f.hsmm(matrix(f), d),
    "smm": lambda f, d: f.smm(matrix(f), d),
    "smm, method": lambda f, d: twice(f).smm(d),
    "smm of nothing": lambda f, d: f.smm(f.sparse_coo_tensor((3, 3)), d),
    "smm, gradient asked for": lambda f, d: f.smm(matrix(f, requires_grad=True), d),
    "sspaddmm": lambda f, d: f.sspaddmm(matrix(f), matrix(f), f.ones(3, 3)),
    "sspaddmm, method": lambda f, d: twice(f).sspaddmm(
        matrix(f), f.ones(3, 3), beta=2.0, alpha=3.0
    ),
    "saddmm without the first": lambda f, d: f.saddmm(matrix(f), twice(f), f.ones(3, 3), beta=0),
    "stack": lambda f, d: f.stack([matrix(f), twice(f)]),
    "stack along rows": lambda f, d: f.stack([matrix(f), matrix(f)], 1),
    "stack along the last": lambda f, d: f.stack([matrix(f), matrix(f)], dim=-1),
    "stack of rows": lambda f, d: f.stack([rows(f), rows(f)], 1),
    "stack along values": lambda f, d: f.stack([rows(f), rows(f)], 2),
    "cat along values": lambda f, d: f.cat([rows(f), rows(f) * 2, rows(f)], 1),
    "narrow_copy": lambda f, d: matrix(f).narrow_copy(0, 1, 2),
    "narrow_copy of columns": lambda f, d: f.narrow_copy(matrix(f), 1, 0, 1),
    "narrow_copy of positions twice": lambda f, d: twice(f).narrow_copy(0, 0, 1),
    "narrow_copy of values": lambda f, d: rows(f).narrow_copy(1, 1, 1),
    "narrow_copy of none": lambda f, d: matrix(f).narrow_copy(0, 0, 0),
    "linear": lambda f, d: f.nn.functional.linear(d.t(), matrix(f)),
    "linear of csr, bias": lambda f, d: f.nn.functional.linear(
        d.t(), matrix(f, "sparse_csr"), f.ones(3)
    ),
    "linear of a sparse input": lambda f, d: f.nn.functional.linear(matrix(f), d.t()),
    "linear of a vector": lambda f, d: f.nn.functional.linear(f.ones(3), matrix(f)),
    "linear of batches": lambda f, d: f.nn.functional.linear(f.ones(2, 2, 3), matrix(f)),
    "clone": lambda f, d: f.clone(matrix(f)),
    "nan_to_num": lambda f, d: (matrix(f) * float("nan")).nan_to_num(2.0),
    "item": lambda f, d: f.sparse_coo_tensor([[0, 0]], [2.0, 3.0], (1,)).item(),
    "float": lambda f, d: float(f.sparse_coo_tensor([[0]], [2.0], (1,))),
    "int": lambda f, d: int(f.sparse_coo_tensor([[0]], [2.5], (1,))),
    "bool": lambda f, d: bool(f.sparse_coo_tensor((1,))),
    "is_nonzero": lambda f, d: f.is_nonzero(f.sparse_coo_tensor([[0]], [2.0], (1,))),
    "new": lambda f, d: matrix(f).new(),
    "new of sizes": lambda f, d: matrix(f).double().new(2, 3),
    "new of positions": lambda f, d: matrix(f).new(
        f.tensor([[0], [1]]), f.tensor([1.0]), f.Size((3, 3))
    ),
    "resize_as_": lambda f, d: matrix(f).resize_as_(f.sparse_coo_tensor((5, 4))),
    "resize_as_sparse_": lambda f, d: rows(f).resize_as_sparse_(
        f.sparse_coo_tensor(f.zeros(1, 0).long(), f.zeros(0, 4), (3, 4)).sparse_resize_(
            (3, 2), 1, 1
        )
    ),
    "dimensions of either kind": lambda f, d: (rows(f)._dimI(), rows(f)._dimV()),
    "broadcast to more rows": lambda f, d: f._sparse_broadcast_to(matrix(f), (2, 3, 3)),
    "broadcast of a row": lambda f, d: f._sparse_broadcast_to(
        matrix(f).narrow_copy(0, 2, 1), (4, 3)
    ),
    "broadcast of a column": lambda f, d: f._sparse_broadcast_to(
        matrix(f).narrow_copy(1, 0, 1).coalesce(), (3, 2)
    ),
    "broadcast of both": lambda f, d: f._sparse_broadcast_to(
        f.sparse_coo_tensor([[0], [0]], [2.0], (1, 1)), (2, 3)
    ),
    "broadcast of values": lambda f, d: f._sparse_broadcast_to(
        f.sparse_coo_tensor([[0, 2]], [[1.0], [2.0]], (3, 1)).coalesce(), (2, 3, 2)
    ),
    "broadcast to itself": lambda f, d: f._sparse_broadcast_to(twice(f), (3, 3)),
    "new_tensor": lambda f, d: matrix(f).double().new_tensor([1]),
    "sparse_resize_": lambda f, d: matrix(f).sparse_resize_((5, 4), 2, 0),
    "sparse_resize_ of nothing": lambda f, d: f.sparse_coo_tensor((3, 3)).sparse_resize_(
        (3, 1, 2), 2, 1
    ),
    "sparse_resize_and_clear_": lambda f, d: matrix(f).sparse_resize_and_clear_((4, 2), 1, 1),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_those_of_pytorch(name):
    found, expected = (facts(RESULTS[name](f, f.tensor(DENSE))) for f in (OURS, torch))
    assert str(found) == str(expected)


# Functions of a package and two matrices, the first sparse, that PyTorch differentiates.
GRADIENTS = {
    "stack": lambda f, x, d: f.stack([x, x * 2], 1),
    "linear": lambda f, x, d: f.nn.functional.linear(d.t(), x),
    "clone": lambda f, x, d: f.clone(x),
}
# Functions that it does not, beside the same with functions that it does.
DENSE_FORMS = {
    "hspmm": (lambda f, x, d: f.hspmm(x, d), lambda x, d: x @ d),
    "smm": (lambda f, x, d: f.smm(x, d), lambda x, d: x @ d),
    "sspaddmm": (
        lambda f, x, d: f.sspaddmm(x, x, d @ d.t(), beta=2, alpha=3),
        lambda x, d: 3 * (x @ (d @ d.t())) + 2 * x,
    ),
    "narrow_copy": (
        lambda f, x, d: f.hspmm(x.narrow_copy(1, 1, 2), d[:2]),
        lambda x, d: x.to_dense()[:, 1:] @ d[:2],
    ),
    "cat along values": (
        lambda f, x, d: f.cat([f.hspmm(x, d), f.hspmm(x, d * 2)], 1),
        lambda x, d: torch.cat([x @ d, x @ (d * 2)], 1),
    ),
    "svd_lowrank": (
        lambda f, x, d: f.svd_lowrank(x, 2)[1],
        lambda x, d: torch.linalg.svdvals(x.to_dense())[:2],
    ),
    "pca_lowrank": (
        lambda f, x, d: f.pca_lowrank(x, 2)[1],
        lambda x, d: torch.linalg.svdvals(x.to_dense() - x.to_dense().mean(0))[:2],
    ),
}


def gradients(f, function):
    x, d = matrix(f, requires_grad=True), f.tensor(DENSE).requires_grad_()
    result = function(x, d).to_dense()
    (result * f.arange(1.0, result.numel() + 1).reshape(result.shape)).sum().backward()
    grads = [f.zeros(1) if grad is None else grad.to_dense() for grad in (x.grad, d.grad)]
    return [torch.tensor(tensor.tolist()) for tensor in (result.detach(), *grads)]


@pytest.mark.parametrize("name", [*GRADIENTS, *DENSE_FORMS])
def test_gradients_are_those_of_pytorch(name):
    if name in GRADIENTS:
        function = GRADIENTS[name]
        expected = gradients(torch, lambda x, d: function(torch, x, d))
    else:
        function, dense_form = DENSE_FORMS[name]
        expected = gradients(torch, lambda x, d: dense_form(x, d))
    found = gradients(OURS, lambda x, d: function(OURS, x, d))
    stored = [[0, 1, 0], [0, 0, 0], [1, 0, 1]]
    if expected[1].shape == (3, 3):  # the dense forms have gradients where nothing is stored
        expected[1] = expected[1] * torch.tensor(stored)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=2e-5, atol=2e-5)


REFUSED = {
    "hspmm of two sparse": lambda f: f.hspmm(matrix(f), matrix(f)),
    "hspmm of two dense": lambda f: f.hspmm(f.ones(3, 3), f.ones(3, 3)),
    "hspmm of shapes": lambda f: f.hspmm(matrix(f), f.ones(2, 2)),
    "hspmm of dtypes": lambda f: f.hspmm(matrix(f).double(), f.ones(3, 3)),
    "hspmm of csr": lambda f: f.hspmm(matrix(f, "sparse_csr"), f.ones(3, 3)),
    "hspmm of rows": lambda f: f.hspmm(rows(f), f.ones(2, 2)),
    "smm of csr": lambda f: f.smm(matrix(f, "sparse_csr"), f.ones(3, 3)),
    "smm of shapes": lambda f: f.smm(matrix(f), f.ones(2, 2)),
    "sspaddmm of shapes": lambda f: f.sspaddmm(matrix(f), matrix(f), f.ones(3, 2)),
    "sspaddmm of a dense one": lambda f: f.sspaddmm(f.ones(3, 3), matrix(f), f.ones(3, 3)),
    "stack of dense and sparse": lambda f: f.stack([matrix(f), f.ones(3, 3)]),
    "stack of shapes": lambda f: f.stack([matrix(f), rows(f)]),
    "narrow_copy outside": lambda f: matrix(f).narrow_copy(0, 2, 5),
    "narrow_copy from the end": lambda f: matrix(f).narrow_copy(0, -1, 1),
    "item of several": lambda f: matrix(f).item(),
    "float of several": lambda f: float(matrix(f)),
    "bool of several": lambda f: bool(matrix(f)),
    "new of csr": lambda f: matrix(f, "sparse_csr").new(),
    "resize of dense dimensions": lambda f: matrix(f).sparse_resize_((3, 3, 2), 2, 1),
    "resize of sparse dimensions": lambda f: rows(f).sparse_resize_((3, 2), 2, 0),
    "resize to less": lambda f: matrix(f).sparse_resize_((1, 1), 2, 0),
    "resize to other numbers": lambda f: matrix(f).sparse_resize_((5, 4), 1, 0),
    "resize of a dense tensor": lambda f: f.ones(2, 2).sparse_resize_((2, 2), 2, 0),
    "resize of csr": lambda f: matrix(f, "sparse_csr").sparse_resize_((5, 4), 2, 0),
    "resize of a leaf": lambda f: matrix(f, requires_grad=True).sparse_resize_((5, 4), 2, 0),
    "hook without gradient": lambda f: matrix(f).register_hook(print),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused(name):
    for f in (torch, OURS):
        with pytest.raises((RuntimeError, ValueError)) as raised:
            REFUSED[name](f)
        assert f is torch or str(raised.value)


def test_longer_values_keep_what_they_hold():
    x = rows(flow).sparse_resize_((3, 4), 1, 1)
    assert x.shape == (3, 4)
    assert x._values().flatten()[:4].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("factor", [None, 3.0])
def test_hooks_get_sparse_gradients_and_replace_them(factor):
    def results(f):
        seen = []

        def hook(grad):
            seen.append(facts(grad.coalesce()))
            return None if factor is None else grad * factor

        x = matrix(f, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf is x))
        y = x * 2
        y.retain_grad()
        handle = y.register_hook(hook)
        f.sparse.sum(y).backward(retain_graph=True)
        handle.remove()
        f.sparse.sum(y).backward()
        return *seen, facts(x.grad.coalesce()), facts(y.grad.coalesce())

    assert results(OURS) == results(torch)


# Functions whose results may share the values of their operand.
SHARED = {
    "t": lambda f, x: x.t(),
    "permute": lambda f, x: x.permute(1, 0),
    "unsqueeze": lambda f, x: x.unsqueeze(0),
    "clone": lambda f, x: x.clone(),
    "detach": lambda f, x: x.detach(),
    "data": lambda f, x: x.data,
    "to_sparse": lambda f, x: x.to_sparse(),
    "to_sparse_csr": lambda f, x: x.to_sparse_csr(),
    "to_sparse_csc": lambda f, x: x.to_sparse_csc(),
    "float": lambda f, x: x.float(),
    "double": lambda f, x: x.double(),
    "to a copy": lambda f, x: x.to(f.float32, copy=True),
    "select": lambda f, x: x.select(1, 0),
    "index_select": lambda f, x: x.index_select(0, f.arange(3)),
    "cat": lambda f, x: f.cat([x]),
    "stack": lambda f, x: f.stack([x]),
    "narrow_copy": lambda f, x: x.narrow_copy(1, 0, 2),
    "times 1": lambda f, x: x * 1,
    "by 1": lambda f, x: x / 1,
    "positive": lambda f, x: +x,
    "relu": lambda f, x: x.relu(),
    "nan_to_num": lambda f, x: x.nan_to_num(),
    "sparse_mask": lambda f, x: x.sparse_mask(x),
    "sum": lambda f, x: f.sparse.sum(x, 1),
    "plus nothing": lambda f, x: x.add(f.zeros_like(x)),
    "deepcopy": lambda f, x: copy.deepcopy(x),
    "softmax": lambda f, x: f.sparse.softmax(x, 1),
}
KINDS = {
    "coo": matrix,
    "rows": rows,
    "twice": twice,
    "csr": lambda f: matrix(f, "sparse_csr"),
    "csc": lambda f: matrix(f, "sparse_csc"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SHARED)
def test_writes_reach_no_operand_that_pytorch_keeps(name, kind):
    def is_reached(f):
        x = KINDS[kind](f)
        result = SHARED[name](f, x)
        before = x.to_dense().tolist()
        values = result if str(result.layout).endswith("strided") else result._values()
        values.neg_()
        return x.to_dense().tolist() != before

    try:
        expected = is_reached(torch)
    except (RuntimeError, NotImplementedError, ValueError, IndexError) as error:
        pytest.skip(f"PyTorch refuses it: {str(error)[:60]}")
    assert is_reached(OURS) <= expected


# Functions in place, and whether a tensor that shares the values sees them.
WRITES = {
    "neg_": lambda f, x: x.neg_(),
    "sin_": lambda f, x: x.sin_(),
    "relu_": lambda f, x: x.neg_().relu_(),
    "div_": lambda f, x: x.div_(2),
    "/=": lambda f, x: x.__itruediv__(2),
    "mul_": lambda f, x: x.mul_(2),
    "add_": lambda f, x: x.add_(x),
    "sub_": lambda f, x: x.sub_(x),
    "zero_": lambda f, x: x.zero_(),
    "copy_": lambda f, x: x.copy_(f.zeros_like(x)),
}


# PyTorch adds csr in place if the positions of both are equal, and makes new ones otherwise;
# zeros take the positions from who shares them.
@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, "coo") for name in WRITES]
    + [(name, "csr") for name in WRITES if name not in ("add_", "zero_")]
    + [(name, "twice") for name in WRITES],
)
def test_who_shares_the_values_sees_writes_as_in_pytorch(name, kind):
    def results(f):
        x = KINDS[kind](f)
        shared = x.detach()
        WRITES[name](f, x)
        return x.to_dense().tolist(), shared.to_dense().tolist()

    try:
        expected = results(torch)
    except (RuntimeError, NotImplementedError) as error:
        pytest.skip(f"PyTorch refuses it: {str(error)[:60]}")
    assert results(OURS) == expected


@pytest.mark.parametrize("write", ["mul_", "neg_", "div_"])
def test_gradients_of_results_are_retained_behind_writes(write):
    def gradient(f):
        y = matrix(f, requires_grad=True) * 2
        y.retain_grad()
        WRITES[write](f, y)
        f.sparse.sum(y).backward()
        return y.grad.to_dense().tolist()

    assert gradient(OURS) == gradient(torch)


def test_hooks_hold_no_values():
    """Also the nodes of functions of users, which tell where gradients are placed."""
    tensor = matrix(flow, requires_grad=True) * 2
    form = composed_form(tensor)
    assert form._values().untyped_storage().nbytes() == 0
    assert tensor.form().with_gradient(tensor._values()).to_dense().tolist() == (
        tensor.to_dense().tolist()
    )


def test_results_of_hooks_are_tensors():
    result = matrix(flow, requires_grad=True) * 2
    result.register_hook(lambda gradient: 3)
    with pytest.raises((TypeError, RuntimeError), match="hook"):
        flow.sparse.sum(result).backward()


def test_hooks_do_not_hold_their_tensors():
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        leaf = matrix(flow, requires_grad=True)
        result = leaf * 2
        result.register_hook(lambda gradient: gradient * 3)
        leaf.register_post_accumulate_grad_hook(lambda tensor: called.append(tensor.grad))
        called = []
        flow.sparse.sum(result).backward()
        references = [weakref.ref(result), weakref.ref(leaf)]
        del result, leaf
        assert [reference() for reference in references] == [None, None]
    finally:
        if was_enabled:
            gc.enable()
    assert called[0].to_dense().max().item() == 6


@pytest.mark.parametrize(("size", "dims"), [((-4, 4), (2, 0)), ((4,), (2, -1)), ((4,), (-1, 2))])
def test_negative_sizes_are_refused(size, dims):
    for method in ("sparse_resize_", "sparse_resize_and_clear_"):
        with pytest.raises(RuntimeError):
            getattr(matrix(torch), method)(size, *dims)
        with pytest.raises(RuntimeError, match="no negative size"):
            getattr(matrix(flow), method)(size, *dims)


def test_gradients_flow_through_writes_in_place():
    x = matrix(flow, requires_grad=True)
    y = x * 3
    y.sin_().div_(2)
    flow.sparse.sum(y).backward()
    expected = 1.5 * flow.cos(3 * x.detach().values())
    assert flow.allclose(x.grad.values(), expected)
    with pytest.raises(RuntimeError, match="leaf"):
        matrix(flow, requires_grad=True).sin_()
