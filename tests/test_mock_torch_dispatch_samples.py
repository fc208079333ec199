"""The law of modes that only forward: a call under one gives what the same call gives outside.

Each function of the operator table is called with all its samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import oneflow as flow
from tests.in_place import dispatch_enabled, in_place_of
from tests.oracle import FLOW, array_difference, differentiated, dtype_name, flat_tensors, to_numpy
from tests.samples.table import Case, Operator, operators

_MODE: Any = in_place_of("torch.utils._python_dispatch").TorchDispatchMode


#: Samples of which the law does not hold, by function and place, with the reason.
EXCEPTIONS = {
    ("trapezoid", 5): "outside no gradient flows to a tensor without elements; here zeros do",
    ("logsumexp", 7): "its derivative takes no tensor without dimensions",
    ("gather", 6): "its derivative takes no index of bytes",
}


class _Forwards(_MODE):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class _Notes(_MODE):
    def __init__(self) -> None:
        super().__init__()
        self.operators: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.operators.append(str(func))
        return func(*args, **(kwargs or {}))


@pytest.fixture(scope="module", autouse=True)
def _dispatch() -> Iterator[None]:
    with dispatch_enabled():
        yield


def outcome(row: Operator, sample: Case) -> Any:
    """The results of a sample, and their gradients; the class of its error."""
    try:
        return _results(row, sample)
    except Exception as error:
        return type(error)


def _results(row: Operator, sample: Case) -> list[Any]:
    dtype = next(iter(row.gradient_dtypes), row.dtypes[0])
    with_gradients = dtype in row.gradient_dtypes
    flow.manual_seed(0)
    arguments = FLOW.arguments(sample, dtype, row.name, with_gradients)
    if not with_gradients:
        results = flat_tensors(FLOW.function(row)(*arguments.args, **arguments.kwargs))
    else:
        outputs, levels = differentiated(FLOW, row, arguments, row.name, 1)
        results = [*flat_tensors(outputs), *levels[0]]
    return [x if x is None else (dtype_name(x), to_numpy(x)) for x in results]


ROWS = {f"{family}: {row.name}": row for family, row in operators()}


@pytest.mark.parametrize("name", ROWS)
def test_calls_under_a_mode_that_forwards(name: str) -> None:
    row = ROWS[name]
    for place, sample in enumerate(row.cases):
        if (row.name, place) not in EXCEPTIONS:
            expected = outcome(row, sample)
            with _Forwards():
                results = outcome(row, sample)
            _compare(row, results, expected)


def _compare(row: Operator, results: Any, expected: Any) -> None:
    if isinstance(expected, type) or isinstance(results, type):
        assert results is expected
        return
    assert len(results) == len(expected)
    for mine, its in zip(results, expected, strict=True):
        assert (mine is None) == (its is None)
        if mine is not None:
            assert (mine[0], mine[1].shape) == (its[0], its[1].shape)
            assert not row.values or array_difference(mine[1], *its[::-1], row.tolerance) is None


#: The operators by which PyTorch fills a matrix; `None`: others, which are not compared.
INITIALIZERS = {
    "uniform_": ((-1.0, 1.0), "aten.uniform_.default"),
    "normal_": ((0.5, 2.0), "aten.normal_.default"),
    "constant_": ((3.0,), "aten.fill_.Scalar"),
    "ones_": ((), "aten.fill_.Scalar"),
    "zeros_": ((), "aten.zero_.default"),
    "xavier_uniform_": ((), "aten.uniform_.default"),
    "xavier_normal_": ((), "aten.normal_.default"),
    "kaiming_uniform_": ((), "aten.uniform_.default"),
    "kaiming_normal_": ((), "aten.normal_.default"),
    "trunc_normal_": ((), None),
    "orthogonal_": ((), None),
    "eye_": ((), None),
    "sparse_": ((0.5,), None),
}


@pytest.mark.parametrize("name", INITIALIZERS)
def test_initial_values_keep_leaves(name: str) -> None:
    args, operator = INITIALIZERS[name]
    initialize = getattr(flow.nn.init, name)
    flow.manual_seed(0)
    expected = initialize(flow.empty(3, 4), *args)
    flow.manual_seed(0)
    with _Notes() as mode:
        weight = flow.nn.Parameter(flow.empty(3, 4))
        del mode.operators[:]
        assert initialize(weight, *args) is weight
    assert operator is None or mode.operators == [operator]
    assert (weight.is_leaf, weight.requires_grad, weight.grad_fn) == (True, True, None)
    assert weight.tolist() == expected.tolist()


@pytest.mark.parametrize(
    "shapes", [((2, 3), (3, 2)), ((2, 2, 3), (2, 3, 1)), ((2, 3), (3,)), ((3,), (3,))]
)
def test_gradients_of_complex_products(shapes: Any) -> None:
    flow.manual_seed(0)
    operands = [flow.randn(shape, dtype=flow.complex64, requires_grad=True) for shape in shapes]
    expected = flow.autograd.grad((operands[0] @ operands[1]).abs().sum(), operands)
    with _Forwards():
        results = flow.autograd.grad((operands[0] @ operands[1]).abs().sum(), operands)
    for mine, its in zip(results, expected, strict=True):
        assert array_difference(mine.numpy(), its.numpy(), "complex64") is None


EQUATIONS = (
    "ij,jk->ik bij,bjk->bik ij,jk,kl i,j->ij ...ij,jk->...ik ij,kj->k ij,ij-> ij,j->ij aij,ja->i"
)


@pytest.mark.parametrize("equation", EQUATIONS.split())
def test_modes_see_products_of_named_dimensions(equation: str) -> None:
    sizes = dict(zip("ijklab", (2, 3, 4, 5, 3, 2), strict=True))
    terms = equation.partition("->")[0].split(",")
    shapes = [
        ([2] if "..." in term else []) + [sizes[letter] for letter in term.replace(".", "")]
        for term in terms
    ]
    flow.manual_seed(0)
    operands = [flow.randn(shape, requires_grad=True) for shape in shapes]
    expected = flow.einsum(equation, *operands)
    gradients = flow.autograd.grad(expected.sum(), operands)
    with _Notes() as mode:
        result = flow.einsum(equation, *operands)
        assert {"aten.bmm.default", "aten.mul.Tensor"} & set(mode.operators)
        results = [result, *flow.autograd.grad(result.sum(), operands)]
    for mine, its in zip(results, [expected, *gradients], strict=True):
        assert mine.shape == its.shape
        assert array_difference(mine.numpy(), its.numpy(), "float32") is None


def test_layers_made_and_trained_under_a_mode() -> None:
    with _Forwards():
        layer = flow.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        optimizer = flow.optim.SGD(layer.parameters(), 0.1)
        before = layer.linear1.weight.tolist()
        layer(flow.randn(1, 3, 4)).square().sum().backward()
        optimizer.step()
        assert all(parameter.is_leaf for parameter in layer.parameters())
        assert layer.linear1.weight.tolist() != before
        assert not layer.requires_grad_(False).linear1.weight.requires_grad
