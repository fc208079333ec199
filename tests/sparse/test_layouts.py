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
    "empty_like, sparse": lambda lib, **options: lib.empty_like(
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


@pytest.mark.parametrize("name", ["zeros_like", "empty_like"])
def test_options_by_position_count_in_other_layouts(name):
    for x in (flow.ones(2, 3), flow.ones(2, 3).to_sparse_csr()):
        made = getattr(flow, name)(
            x, flow.float64, "meta", None, None, True, layout=flow.sparse_coo
        )
        assert (made.layout, made.dtype, made.device.type) == (
            flow.sparse_coo,
            flow.float64,
            "meta",
        )
        assert made.requires_grad
    options = flow.float64, None, flow.placement("cpu", [0]), flow.sbp.broadcast
    with pytest.raises(RuntimeError, match="sparse tensors are local"):
        getattr(flow, name)(flow.ones(2, 3), *options, layout=flow.sparse_coo)


@pytest.mark.parametrize("name", ["zeros", "empty"])
def test_results_in_a_layout_are_written_to_a_tensor_of_that_layout(name):
    def outcome(lib, form):
        out = getattr(lib.ones(2, 3), form)()
        try:
            result = getattr(lib, name)(2, 3, out=out, layout=lib.sparse_coo)
        except RuntimeError as error:
            return "strided" in str(error).lower()
        return result is out, out._nnz()

    for form in ("to_sparse", "clone"):
        assert outcome(flow, form) == outcome(torch, form)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
@pytest.mark.parametrize("options", [{}, {"dtype": "float64"}], ids=str)
@pytest.mark.parametrize("form", ["to_sparse", "to_sparse_csr"])
@pytest.mark.parametrize("shape", [(2, 3), (4, 3)])
def test_zeros_in_a_sparse_tensor_store_nothing(shape, form, options):
    def outcome(lib):
        out = getattr(lib.ones(2, 3), form)()
        try:
            result = lib.zeros(shape, out=out, **{k: getattr(lib, v) for k, v in options.items()})
        except RuntimeError:
            return out._nnz()
        return result is out, tuple(out.shape), out._nnz(), out.to_dense().tolist()

    assert outcome(flow) == outcome(torch)


def test_leaves_that_ask_for_gradients_are_not_written_to():
    for lib in (flow, torch):
        out = lib.ones(2).to_sparse().requires_grad_()
        with pytest.raises(RuntimeError):
            lib.zeros(2, out=out)
        assert out.to_dense().tolist() == [1.0, 1.0]


LIKE_SPARSE = {
    "ones_like": lambda lib, x, **options: lib.ones_like(x, **options),
    "full_like": lambda lib, x, **options: lib.full_like(x, 3, **options),
    "new_ones": lambda lib, x, **options: x.new_ones(2, 3, **options),
    "new_full": lambda lib, x, **options: x.new_full((2, 3), 3, **options),
    "rand_like": lambda lib, x, **options: lib.rand_like(x, **options) * 0,
    "randn_like": lambda lib, x, **options: lib.randn_like(input=x, **options) * 0,
    "randint_like": lambda lib, x, **options: lib.randint_like(
        x, 1, **{"dtype": lib.float64, **options}
    ),
}


@pytest.mark.parametrize("name", LIKE_SPARSE)
def test_functions_make_dense_tensors_like_sparse_ones_if_they_are_told_to(name):
    def made(lib, **options):
        x = lib.ones(2, 3, dtype=lib.float64).to_sparse()
        result = LIKE_SPARSE[name](lib, x, layout=lib.strided, **options)
        facts = str(result.layout), str(result.dtype), result.device.type, result.requires_grad
        return [str(fact).rpartition(".")[2] for fact in facts], result.detach().tolist()

    assert made(flow) == made(torch)
    if not name.startswith("rand"):
        assert made(flow, requires_grad=True) == made(torch, requires_grad=True)
        assert made(flow, dtype=flow.float32) == made(torch, dtype=torch.float32)
    with pytest.raises(RuntimeError, match=name):
        LIKE_SPARSE[name](flow, flow.ones(2, 3).to_sparse())


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


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_values_with_history_keep_shapes_of_their_own():
    def shapes_and_gradient(lib):
        leaf = lib.tensor([[3.0, 4.0]], requires_grad=True)
        values = leaf * 1
        x = lib.sparse_coo_tensor(lib.tensor([[0], [1]]), values, (1, 2, 2))
        values.t_()
        (x.to_dense() * 2).sum().backward()
        return tuple(x._values().shape), tuple(values.shape), leaf.grad.flatten().tolist()

    assert shapes_and_gradient(flow) == shapes_and_gradient(torch)


WRITES = {
    "mul_": lambda lib, x: x.mul_(2),
    "twice": lambda lib, x: x.mul_(2).add_(x),
    "+=": lambda lib, x: x.__iadd__(x),
    "*=": lambda lib, x: x.__imul__(2),
    "neg_": lambda lib, x: x.neg_(),
    "zero_": lambda lib, x: x.zero_(),
    "copy_": lambda lib, x: x.copy_(x.clone()),
    "values": lambda lib, x: x.values().mul_(2),
    "values, then all": lambda lib, x: (x.values().mul_(2), x.neg_()),
    "out": lambda lib, x: lib.sin(x, out=x),
    "requires_grad_": lambda lib, x: x.requires_grad_(),
    "no_grad": lambda lib, x: lib.no_grad()(x.requires_grad_().mul_)(2),
    "clone": lambda lib, x: x.clone().mul_(2),
    "data": lambda lib, x: x.data.neg_(),
    "to the same": lambda lib, x: x.to(lib.float32).mul_(2),
    "float": lambda lib, x: x.float().mul_(2),
    "type_as": lambda lib, x: x.type_as(x).mul_(2),
    "cpu": lambda lib, x: x.cpu().mul_(2),
}


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("form", ["to_sparse", "to_sparse_csr"])
@pytest.mark.parametrize("name", WRITES)
def test_writes_are_counted(name, form):
    def counts(lib):
        x = getattr(lib.tensor([[3.0, 0.0], [0.0, 4.0]]), form)()
        x.sin_()
        before = x._version
        WRITES[name](lib, x)
        return before, x._version, x.detach()._version, x.data._version, x.clone()._version

    assert counts(flow)[:4] == counts(torch)[:4]
    assert counts(flow)[4] == 0


def test_inference_mode_counts_no_writes():
    with flow.inference_mode():
        x = flow.tensor([[3.0, 0.0]]).to_sparse().mul_(2)
        assert x.to_dense().tolist() == [[6.0, 0.0]]


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("form", ["to_sparse", "to_sparse_csr"])
@pytest.mark.parametrize("then", ["nothing", "add_"])
def test_zeroed_results_keep_their_history(form, then):
    def gradient(lib):
        leaf = getattr(lib.tensor([[3.0, 0.0], [0.0, 4.0]]), form)().requires_grad_()
        x = leaf * 2
        x.zero_()
        facts = x.requires_grad, x.is_leaf, x._nnz()
        if then == "add_":
            x.add_(leaf)
        x.to_dense().sum().backward()
        return facts, leaf.grad.to_dense().tolist()

    assert gradient(flow) == gradient(torch)


NORMS = {
    "all": {"p": 2, "dim": (0, 1)},
    "in another order": {"p": 1, "dim": (1, 0)},
    "from the end": {"p": float("inf"), "dim": [-1, -2]},
    "none": {"p": 2, "dim": ()},
    "None": {"p": 2, "dim": None},
    "without p": {"dim": (0, 1)},
    "fro": {"p": "fro", "dim": (0, 1)},
    "one": {"p": 2, "dim": 0},
    "one in a tuple": {"p": 2, "dim": (1,)},
    "kept": {"p": 2, "dim": (0, 1), "keepdim": True},
    "dtype": {"p": 2, "dtype": "float64"},
    "nuc": {"p": "nuc"},
}


@pytest.mark.parametrize("sparse_dim", [1, 2])
@pytest.mark.parametrize("name", NORMS)
def test_norms_of_all_dimensions(name, sparse_dim):
    def norm(lib):
        options = dict(NORMS[name])
        if "dtype" in options:
            options["dtype"] = getattr(lib, options["dtype"])
        x = lib.tensor([[3.0, 1.0], [0.0, 0.0], [4.0, -2.0]]).to_sparse(sparse_dim)
        try:
            return x.norm(**options).item()
        except (RuntimeError, NotImplementedError):
            return None

    assert norm(flow) == pytest.approx(norm(torch))


def test_zero_norm_items_and_arrays():
    x = flow.tensor([[3.0, 0.0], [0.0, 4.0]]).to_sparse()
    assert x.norm().item() == 5
    assert x.to_sparse_csr().norm().item() == 5
    assert [row.to_dense().tolist() for row in x] == [[3.0, 0.0], [0.0, 4.0]]
    with pytest.raises(TypeError, match="to_dense"):
        x.numpy()
    assert x.zero_() is x
    assert (x._nnz(), x.shape) == (0, (2, 2))
