"""Sparse tensors: values, dtypes and gradients of what programs do with them, as in PyTorch."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest
import torch

import oneflow as flow
from tests.in_place import in_place_of
from tests.oracle import difference

# PyTorch says that its sparse tensors are young.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse")

INDEX = [[0, 2, 1, 2, 0], [3, 0, 1, 2, 0]]
TWICE = [[0, 2, 0, 2, 0], [3, 0, 3, 2, 0]]
OTHER = [[0, 1, 2, 2], [0, 1, 2, 3]]


class DensePyTorch:
    """PyTorch, whose tensors of coordinates have all elements: it lacks gradients of the sparse."""

    def __getattr__(self, name):
        return getattr(torch, name)

    def sparse_coo_tensor(self, *args):
        return torch.sparse_coo_tensor(*args).to_dense()


# Operations of which PyTorch gives no gradient.
WITHOUT_GRADIENT = {
    *("tanh method", "unsqueeze", "select", "row", "index_select", "index_select of columns"),
    *("cat", "sum of columns"),
}


def coo(f, values, index=INDEX, size=(3, 4)):
    return f.sparse_coo_tensor(f.tensor(index), values, size)


def table(f, *shape, start=-1.0):
    count = torch.Size(shape).numel()
    return f.linspace(start, 2, count).reshape(shape)


# Results for a matrix of five values and a dense tensor, by name. `f` is the framework.
DENSE_RESULTS = {
    "to_dense": lambda f, v, d: coo(f, v).to_dense(),
    "to_dense of places twice": lambda f, v, d: coo(f, v, TWICE).to_dense(),
    "to_dense of csr": lambda f, v, d: coo(f, v).to_sparse_csr().to_dense(),
    "to_dense of csc": lambda f, v, d: coo(f, v).to_sparse_csc().to_dense(),
    "to_dense of a dense tensor": lambda f, v, d: d.to_dense() * 2,
    "dense dimensions": lambda f, v, d: f.sparse_coo_tensor(
        f.tensor([[2, 0, 2, 1, 2]]), v.unsqueeze(1) * d[0], (3, 3)
    ).to_dense(),
    "sparse.mm": lambda f, v, d: f.sparse.mm(coo(f, v), d),
    "mm": lambda f, v, d: f.mm(coo(f, v, TWICE), d),
    "matmul": lambda f, v, d: f.matmul(coo(f, v), d),
    "@": lambda f, v, d: coo(f, v) @ d,
    "@ of csr": lambda f, v, d: coo(f, v).to_sparse_csr() @ d,
    "@ of csc": lambda f, v, d: coo(f, v).to_sparse_csc() @ d,
    "dense @ sparse": lambda f, v, d: d.t() @ coo(f, v).t(),
    "@ vector": lambda f, v, d: coo(f, v) @ d[:, 0],
    "mv": lambda f, v, d: f.mv(coo(f, v), d[:, 0]),
    "bmm": lambda f, v, d: f.bmm(
        f.sparse_coo_tensor(f.tensor([[0, 1, 1, 0, 1], *INDEX]), v, (2, 3, 4)),
        f.stack([d, d * 2]),
    ),
    "addmm": lambda f, v, d: f.addmm(d[:3], coo(f, v), d, beta=2, alpha=3),
    "sparse.addmm": lambda f, v, d: f.sparse.addmm(d[:3], coo(f, v), d, beta=2, alpha=3),
    "dense + sparse": lambda f, v, d: d.t() + coo(f, v),
    "sum": lambda f, v, d: coo(f, v).sum(),
    "f.sum": lambda f, v, d: f.sum(coo(f, v)),
    "sparse.sum": lambda f, v, d: f.sparse.sum(coo(f, v, TWICE)),
    "sparse.sum of rows and columns": lambda f, v, d: f.sparse.sum(coo(f, v), dim=(0, 1)),
    "sparse.mm mean": lambda f, v, d: f.sparse.mm(coo(f, v).to_sparse_csr(), d, "mean"),
    "sparse.mm amax": lambda f, v, d: f.sparse.mm(coo(f, v).to_sparse_csr(), d, "amax"),
    "sparse.mm min": lambda f, v, d: f.sparse.mm(coo(f, v).to_sparse_csr(), d, "min"),
    "layer": lambda f, v, d: f.relu(f.sparse.mm(coo(f, v), d)).sum(0),
}
SPARSE_RESULTS = {
    "coo": lambda f, v, d: coo(f, v),
    "coalesce": lambda f, v, d: coo(f, v, TWICE).coalesce(),
    "to_sparse": lambda f, v, d: (v.unsqueeze(1) * d[:3, 0].relu()).to_sparse(),
    "to_sparse of rows": lambda f, v, d: (v.unsqueeze(1) * d[:3, 0].relu()).to_sparse(1),
    "csr": lambda f, v, d: coo(f, v).to_sparse_csr(),
    "csr to coo": lambda f, v, d: coo(f, v).to_sparse_csr().to_sparse(),
    "csc to coo": lambda f, v, d: coo(f, v).to_sparse_csc().to_sparse_coo(),
    "layout": lambda f, v, d: coo(f, v).to_sparse(layout=f.sparse_csc),
    "times 2": lambda f, v, d: coo(f, v) * 2,
    "2 times": lambda f, v, d: 2 * coo(f, v),
    "by 2": lambda f, v, d: coo(f, v) / 2,
    "div": lambda f, v, d: coo(f, v).div(3.0),
    "negative": lambda f, v, d: -coo(f, v),
    "times dense": lambda f, v, d: coo(f, v) * d.t(),
    "times sparse": lambda f, v, d: coo(f, v) * coo(f, v[:4] + 1, OTHER),
    "plus sparse": lambda f, v, d: coo(f, v) + coo(f, v[:4], OTHER),
    "add": lambda f, v, d: f.add(coo(f, v), coo(f, v[:4], OTHER), alpha=2),
    "minus sparse": lambda f, v, d: coo(f, v) - coo(f, v[:4], OTHER),
    "pow": lambda f, v, d: coo(f, v) ** 2,
    "relu": lambda f, v, d: f.relu(coo(f, v)),
    "tanh method": lambda f, v, d: coo(f, v, TWICE).tanh(),
    "abs": lambda f, v, d: f.abs(coo(f, v)),
    "transpose": lambda f, v, d: coo(f, v).transpose(0, 1),
    "t": lambda f, v, d: f.t(coo(f, v)),
    "permute": lambda f, v, d: coo(f, v).permute(1, 0),
    "unsqueeze": lambda f, v, d: coo(f, v).unsqueeze(1),
    "select": lambda f, v, d: coo(f, v).select(1, 0),
    "row": lambda f, v, d: coo(f, v)[2],
    "index_select": lambda f, v, d: coo(f, v).index_select(0, f.tensor([2, 0, 2])),
    "index_select of columns": lambda f, v, d: f.index_select(coo(f, v), 1, f.tensor([3, 0])),
    "cat": lambda f, v, d: f.cat([coo(f, v), coo(f, v[:4], OTHER)], 1),
    "sparse.sum of rows": lambda f, v, d: f.sparse.sum(coo(f, v), dim=0),
    "sum of columns": lambda f, v, d: coo(f, v).sum(1),
    "sparse.softmax": lambda f, v, d: f.sparse.softmax(coo(f, v), 1),
    "sparse.softmax of columns": lambda f, v, d: f.sparse.softmax(coo(f, v, TWICE), 0),
    "sparse.log_softmax": lambda f, v, d: f.sparse.log_softmax(coo(f, v), dim=1),
    "sparse @ sparse": lambda f, v, d: coo(f, v) @ coo(f, v[:4], OTHER).t(),
    "sparse_mask": lambda f, v, d: d.t().sparse_mask(coo(f, v).coalesce()),
    "detach": lambda f, v, d: coo(f, v.detach()).detach() * d.sum(),
    "clone": lambda f, v, d: coo(f, v).clone(),
    "double": lambda f, v, d: coo(f, v).double(),
    "to": lambda f, v, d: coo(f, v).to(f.float64),
    "sampled_addmm": lambda f, v, d: f.sparse.sampled_addmm(
        coo(f, v).to_sparse_csr(), d[:3], d.t(), beta=0.5, alpha=2.0
    ),
    "spdiags": lambda f, v, d: (
        f.sparse.spdiags(d.detach(), f.tensor([0, 1, -1, 2]), (4, 4)) * v.sum()
    ),
}


DENSE_RESULTS |= {
    "T": lambda f, v, d: coo(f, v).T.to_dense(),
    "index_select from the end": lambda f, v, d: (
        coo(f, v.detach()).index_select(0, f.tensor([-1])).to_dense() * d[0, 0]
    ),
    "addmm without the matrix": lambda f, v, d: f.addmm(
        f.full((3, 3), float("nan")), coo(f, v), d, beta=0
    ),
    "no dimensions": lambda f, v, d: v[0].detach().to_sparse().to_dense() * d.sum(),
}
SPARSE_RESULTS |= {
    "sampled_addmm of what is no number": lambda f, v, d: f.sparse.sampled_addmm(
        (coo(f, v.detach()) * float("nan")).to_sparse_csr(), d[:3], d.t(), beta=0.0
    ),
}
# Calls with a matrix that PyTorch refuses, by name: the error's type is its.
REFUSED = {
    "softmax": lambda f, x: f.sparse.softmax(x, 5),
    "unsqueeze": lambda f, x: x.unsqueeze(5),
    "cat": lambda f, x: f.cat([x, x], 7),
    "cat of other sizes": lambda f, x: f.cat([x, x.t()], 0),
    "sum": lambda f, x: x.sum(4),
    "sum twice": lambda f, x: f.sparse.sum(x, dim=(0, -2)),
    "transpose": lambda f, x: x.transpose(0, 4),
    "select": lambda f, x: x.select(4, 0),
    "index_select": lambda f, x: x.index_select(0, f.tensor([3])),
    "index_select along": lambda f, x: x.index_select(4, f.tensor([0])),
    "addmm": lambda f, x: f.addmm(f.ones(5, 5), x, f.ones(4, 3), beta=0),
    "sampled_addmm": lambda f, x: f.sparse.sampled_addmm(
        x.to_sparse_csr(), f.ones(3, 2), f.ones(2, 5)
    ),
    "dense, sparse, reduce": lambda f, x: f.sparse.mm(f.ones(2, 3), x.to_sparse_csr(), "amax"),
    "sparse, sparse, reduce": lambda f, x: f.sparse.mm(
        x.to_sparse_csr(), x.t().to_sparse_csr(), "mean"
    ),
    "sizes": lambda f, x: f.sparse_coo_tensor(
        f.tensor([[1], [1]]), f.ones(1), (2**40, 2**40)
    ).coalesce(),
    "leaf in place": lambda f, x: x.requires_grad_().mul_(2),
    "leaf copy_": lambda f, x: x.requires_grad_().copy_(x.detach()),
    "integers times a float": lambda f, x: x.long().mul_(2.5),
    "root of integers": lambda f, x: x.long().sqrt_(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused(name):
    with pytest.raises((RuntimeError, IndexError, ValueError)) as expected:
        REFUSED[name](torch, coo(torch, torch.ones(5)).coalesce())
    kind = IndexError if expected.type is IndexError else RuntimeError
    with pytest.raises(kind):
        REFUSED[name](flow, coo(flow, flow.ones(5)).coalesce())


def test_leaves_still_ask_for_gradients_after_writes_without_grad_mode():
    def results(f):
        x = coo(f, f.ones(5)).coalesce().requires_grad_()
        with f.no_grad():
            x.mul_(2)
        return x.requires_grad, x.is_leaf, x.detach().to_dense()

    assert difference(results(flow), results(torch)) is None


def test_results_are_written_into_what_is_given():
    x, out = coo(flow, -flow.ones(5)).coalesce(), coo(flow, flow.ones(5)).coalesce()
    assert flow.mul(x, x, out=out) is out
    assert out.to_dense().tolist() == (x.to_dense() ** 2).tolist()
    assert flow.nn.functional.relu(x, inplace=True) is x
    assert x.to_dense().sum().item() == 0
    dense = flow.zeros(3, 2)
    flow.mm(out, flow.ones(4, 2), out=dense)
    assert dense.tolist() == (out @ flow.ones(4, 2)).tolist()
    with pytest.raises(NotImplementedError, match="`out` is"):
        flow.mul(x, x, out=x.t())


def outcome(f, function):
    """A result in dense form, and the gradients by the values and by the dense tensor."""
    values = f.tensor([0.5, -1.0, 2.0, 3.0, 1.5], requires_grad=True)
    dense = table(f, 4, 3).requires_grad_()
    result = function(f, values, dense)
    layout = str(result.layout).partition(".")[2]
    whole = result.to_dense()
    (whole * table(f, *whole.shape, start=0.5)).sum().backward()
    grads = [
        f.zeros(1) if tensor.grad is None else tensor.grad.to_dense() for tensor in (values, dense)
    ]
    return layout, list(result.shape), whole.detach(), *grads


@pytest.mark.parametrize("name", [*DENSE_RESULTS, *SPARSE_RESULTS])
def test_results_are_those_of_pytorch(name):
    function = (DENSE_RESULTS | SPARSE_RESULTS)[name]
    found = outcome(flow, function)
    if name in WITHOUT_GRADIENT:
        assert found[0] == "sparse_coo"
        expected = found[:1] + outcome(DensePyTorch(), function)[1:]
    else:
        expected = outcome(torch, function)
    assert difference(found, expected) is None


@pytest.mark.parametrize("dtype", ["float64", "complex64", "int64", "float16", "bool"])
def test_dtypes_are_those_of_pytorch(dtype):
    def results(f):
        x = coo(f, f.tensor([1, 0, 1, 1, 1]).to(getattr(f, dtype)), TWICE)
        return x.coalesce().values(), x.to_dense(), x.coalesce().indices()

    assert difference(results(flow), results(torch)) is None


def described(f, x):
    layout = str(x.layout).partition(".")[2]
    dims = x.sparse_dim(), x.dense_dim()
    return [
        (layout, x.is_sparse, x.is_sparse_csr, list(x.shape), x.ndim, x.dim(), x.numel()),
        (x._nnz(), *dims, len(x), x.requires_grad, x.is_leaf, x.size(0)),
        isinstance(x, f.Tensor),
        f.is_floating_point(x),
        str(x.device).partition(":")[0],
    ]


def test_what_is_known_of_them():
    def results(f):
        v = f.tensor([0.5, -1.0, 2.0, 3.0, 1.5])
        asking = f.sparse_coo_tensor(f.tensor(INDEX), v, requires_grad=True)
        empty = f.sparse_coo_tensor(size=(2, 3)) if f is torch else f.sparse_coo_tensor((2, 3))
        tensors = [coo(f, v), asking, empty, coo(f, v).to_sparse_csr(), coo(f, v).to_sparse_csc()]
        states = coo(f, v).is_coalesced(), coo(f, v).coalesce().is_coalesced()
        return [described(f, tensor) for tensor in tensors], states, f.ones(2).is_sparse

    assert results(flow) == results(torch)


def test_compressed_tensors():
    def results(f):
        starts, others, v = f.tensor([0, 2, 2, 3]), f.tensor([0, 2, 1]), f.tensor([1.0, 2, 3])
        rows = f.sparse_csr_tensor(starts, others, v, (3, 3), requires_grad=True)
        columns = f.sparse_csc_tensor(starts, others, v)
        (rows @ f.eye(3)).sum().backward()
        return [
            *(rows.crow_indices(), rows.col_indices(), rows.values().detach(), rows.to_dense()),
            *(columns.ccol_indices(), columns.row_indices(), columns.to_dense()),
            rows.grad.to_dense() * (rows.detach().to_dense() != 0),
            f.sparse_compressed_tensor(starts, others, v, layout=f.sparse_csc).to_dense(),
        ]

    assert difference(results(flow), results(torch)) is None


def test_gradients_of_a_leaf_are_sparse():
    def results(f):
        x = coo(f, f.tensor([0.5, -1.0, 2.0, 3.0, 1.5])).coalesce().requires_grad_()
        (f.sparse.mm(x, table(f, 4, 2)) ** 2).sum().backward()
        found = x.grad.coalesce()
        return found.indices(), found.values(), list(found.shape), x.grad.is_sparse

    assert difference(results(flow), results(torch)) is None


def test_writes_in_place():
    def results(f):
        x = coo(f, f.tensor([0.5, -1.0, 2.0, 3.0, 1.5])).coalesce()
        same = x
        x *= 2
        x.div_(4).add_(coo(f, f.ones(4), OTHER))
        x -= coo(f, f.ones(4), OTHER)
        return x.to_dense(), same is x

    assert difference(results(flow), results(torch)) is None


def test_matrices_of_vectors_are_compressed():
    def results(f):
        x = f.tensor([[[0.0, 0.0], [2.0, 0.0]], [[4.0, 5.0], [0.0, 0.0]]])
        found = x.to_sparse_csr(dense_dim=1)
        columns = x.to_sparse(layout=f.sparse_csc, dense_dim=1)
        return found.crow_indices(), found.values(), columns.row_indices(), columns.values()

    assert difference(results(flow), results(torch)) is None
    with pytest.raises(TypeError, match="foo"):
        flow.ones(2, 2).to_sparse(foo=3)


def test_functions_in_place():
    def results(f):
        x = coo(f, f.tensor([0.5, -1.0, 2.0, 3.0, 1.5])).coalesce()
        return x.abs_().sqrt_().neg_() is x, x.to_dense()

    assert difference(results(flow), results(torch)) is None


@pytest.mark.parametrize("form", ["to_sparse", "to_sparse_csr"])
def test_copies_and_files(form):
    x = getattr(flow.tensor([[0.0, 2.0], [3.0, 0.0]]), form)()
    file = io.BytesIO()
    flow.save({"a": x}, file)
    file.seek(0)
    for duplicate in (
        copy.copy(x),
        copy.deepcopy(x),
        pickle.loads(pickle.dumps(x)),
        flow.load(file)["a"],
    ):
        assert duplicate.layout is x.layout
        assert duplicate.to_dense().tolist() == [[0.0, 2.0], [3.0, 0.0]]


def test_modules_keep_them_as_buffers():
    class Layer(flow.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("adjacency", flow.eye(2).to_sparse())

        def forward(self, x):
            return flow.sparse.mm(self.adjacency, x)

    layer, other = Layer().double(), Layer().double()
    assert layer.adjacency.dtype is flow.float64
    layer.adjacency *= 3
    other.load_state_dict(layer.state_dict())
    assert other(flow.ones(2, 1).double()).tolist() == [[3.0], [3.0]]


def test_products_in_a_graph_are_those_of_eager_mode():
    values = flow.tensor([0.5, -1.0, 2.0, 3.0, 1.5])
    index = flow.tensor(INDEX)

    class Step(flow.nn.Graph):
        def build(self, x):
            matrix = flow.sparse_coo_tensor(index, values, (3, 4))
            return flow.sparse.mm(matrix, x), (matrix * 2).t().to_dense()

    x = table(flow, 4, 3)
    matrix = flow.sparse_coo_tensor(index, values, (3, 4))
    expected = flow.sparse.mm(matrix, x).tolist(), (matrix * 2).t().to_dense().tolist()
    assert tuple(tensor.tolist() for tensor in Step()(x)) == expected


def test_operators_that_do_not_take_them_say_so():
    x = coo(flow, flow.ones(5))
    for name, function in {
        "exp": flow.exp,
        "cumsum": lambda x: x.cumsum(0),
        "max": flow.max,
        "reshape": lambda x: x.reshape(4, 3),
        "softplus": flow.nn.functional.softplus,
    }.items():
        with pytest.raises(NotImplementedError, match=f"`{name}` does not take sparse tensors"):
            function(x)
    for function in (flow.Tensor.numpy, lambda x: x + 1, lambda x: x[0:1], lambda x: x == x):
        with pytest.raises(NotImplementedError, match="sparse"):
            function(x)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([[0, 1]], [1.0], (2,)), RuntimeError),
        (([0, 1], [1.0, 2.0], (2,)), RuntimeError),
        (([[0]], [1.0], (2, 3)), RuntimeError),
    ],
)
def test_parts_that_do_not_fit_are_refused(arguments, error):
    with pytest.raises(error, match=r"`(indices|size)` must"):
        flow.sparse_coo_tensor(*arguments)


def test_positions_outside_are_refused():
    with pytest.raises(RuntimeError, match="less than its size, 2, got 2 to 2"):
        flow.sparse_coo_tensor([[2]], [1.0], (2,), check_invariants=True)
    with pytest.raises(RuntimeError, match="less than its size, 1"):
        flow.sparse_csr_tensor([0, 1], [1], [1.0], (1, 1), check_invariants=True)
    with pytest.raises(RuntimeError, match="`compressed_indices` must have 3 entries"):
        flow.sparse_csr_tensor([0, 1], [0], [1.0], (2, 1))
    with pytest.raises(RuntimeError, match=r"please call \.coalesce\(\) first"):
        coo(flow, flow.ones(5)).indices()


def test_pytorchs_private_names():
    mocked = in_place_of("torch")

    def results(f):
        x = coo(f, f.ones(5)).coalesce()
        rows, columns = x.indices()
        starts = f._convert_indices_from_coo_to_csr(rows, 3)
        return (
            starts,
            f._convert_indices_from_csr_to_coo(starts, columns, out_int32=True),
            f._convert_indices_from_csr_to_coo(starts, columns, transpose=True),
            f.spmm(x, f.ones(4, 1)),
            coo(f, f.ones(5))._coalesced_(True).is_coalesced(),
        )

    assert difference(results(mocked), results(torch)) is None


@pytest.mark.parametrize("dtype", ["uint8", "bool", "int32", "float64"])
def test_elements_and_empty_tensors_keep_the_dtype(dtype: str) -> None:
    both = []
    for library in (torch, flow):
        values = library.tensor([1, 0, 2], dtype=library.float32).to(getattr(library, dtype))
        index = library.tensor([[0, 1, 1], [2, 0, 2]])
        x = library.sparse_coo_tensor(index, values, (2, 3))
        element, empty = x[0][2], library.zeros_like(x)
        sized = library.sparse_coo_tensor(size=(2, 3), dtype=x.dtype)
        parts = [str(part.dtype).split(".")[1] for part in (element, empty, sized)]
        parts += [element.item(), library.any(x).item(), empty._nnz(), sized._nnz()]
        both.append([*parts, tuple(empty.shape), sized.to_dense().tolist()])
    assert both[0] == both[1]


@pytest.mark.parametrize(
    ("shape", "offsets", "size"),
    [
        ((2, 3), [0, 0], (3, 3)),
        ((2, 3), [0], (3, 3)),
        ((1, 2, 3), [0], (3, 3)),
        ((1, 3), [0], (3, 3, 3)),
        ((1, 3), [[0]], (3, 3)),
    ],
)
def test_diagonals_that_do_not_fit_are_refused(shape: Any, offsets: Any, size: Any) -> None:
    for library in (torch, flow):
        with pytest.raises(RuntimeError):
            library.sparse.spdiags(library.ones(shape), library.tensor(offsets), size)
