"""Functions of nested tensors with arguments that name dimensions, and indices, as in PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow

pytestmark = pytest.mark.filterwarnings("ignore")


def selected(f, x, along, index):
    """`select`; PyTorch's of strided layout reads memory that is gone, so of each component."""
    if f is torch and x.layout is torch.strided and along and along[0]:
        (dim,) = along
        return [part.select(dim - (dim > 0), index) for part in x.unbind()]
    return x.select(*along, index)


SIZES = ((2, 4), (3, 4))
# Calls of a function along a dimension; `along` is empty where the dimension is left out.
ALONG_ONE = {
    "chunk": lambda f, x, along: x.chunk(2, *along),
    "chunk of more": lambda f, x, along: x.chunk(3, *along),
    "split": lambda f, x, along: x.split(1, *along),
    "split by sizes": lambda f, x, along: x.split([1, 1], *along),
    "flatten": lambda f, x, along: x.flatten(*along),
    "normalize": lambda f, x, along: f.nn.functional.normalize(x, 2.0, *along),
    "squeeze": lambda f, x, along: x.squeeze(*along),
    "squeeze of one": lambda f, x, along: x.unsqueeze(3).squeeze(*along),
    "unsqueeze": lambda f, x, along: x.unsqueeze(*along),
    "sort": lambda f, x, along: tuple(x.sort(*along)),
    "topk": lambda f, x, along: tuple(x.topk(2, *along)),
    "flip": lambda f, x, along: x.flip(*along),
    "roll": lambda f, x, along: x.roll(1, *along),
    "glu": lambda f, x, along: f.nn.functional.glu(x, *along),
    "softmax": lambda f, x, along: f.nn.functional.softmax(x, *along),
    "log_softmax": lambda f, x, along: f.nn.functional.log_softmax(x, *along),
    "argmax": lambda f, x, along: x.argmax(*along),
    "max": lambda f, x, along: x.max(*along),
    "sum": lambda f, x, along: x.sum(*along),
    "var": lambda f, x, along: x.var(*along),
    "select": lambda f, x, along: selected(f, x, along, 1),
    "select from the end": lambda f, x, along: selected(f, x, along, -1),
    "narrow": lambda f, x, along: x.narrow(*along, 0, 1),
    "cumsum": lambda f, x, along: x.cumsum(*along),
    "unflatten": lambda f, x, along: x.unflatten(*along, (2, -1)),
    "transpose": lambda f, x, along: x.transpose(1, *along),
    "movedim": lambda f, x, along: x.movedim(1, *along),
    "cat": lambda f, x, along: f.cat([x, x], *along),
}
ALONGS = ((), (0,), (1,), (2,), (-1,))
# Functions that go across components where no dimension is given.
DEFAULTS_REFUSED = {"flatten", "squeeze", "squeeze of one", "roll", "softmax", "log_softmax"}


def nested(f, layout, sizes=SIZES):
    rng = np.random.default_rng(0)
    parts = [f.tensor(rng.normal(size=size).astype(np.float32)) for size in sizes]
    return f.nested.nested_tensor(parts, layout=getattr(f, layout))


def described(result):
    """Components, in the tuples that hold them."""
    if isinstance(result, (tuple, list)):
        return [described(piece) for piece in result]
    if result.is_nested:
        return [described(part) for part in result.unbind()]
    return np.asarray(result.tolist(), np.float64)


def outcome(call, f, layout):
    try:
        return described(call(f, nested(f, layout)))
    except (RuntimeError, IndexError, TypeError, ValueError, AssertionError) as error:
        return error


def compare(expected, found):
    if isinstance(expected, list):
        assert isinstance(found, list)
        assert len(expected) == len(found)
        for expected_piece, found_piece in zip(expected, found, strict=True):
            compare(expected_piece, found_piece)
        return
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layout", ["jagged", "strided"])
@pytest.mark.parametrize("name", ALONG_ONE)
def test_what_pytorch_computes_along_a_dimension_is_its(name, layout):
    for along in ALONGS:

        def call(f, x, along=along):
            return ALONG_ONE[name](f, x, along)

        expected, found = outcome(call, torch, layout), outcome(call, flow, layout)
        if not isinstance(expected, Exception):
            compare(expected, found)
        elif not along and name in DEFAULTS_REFUSED:
            assert isinstance(found, RuntimeError), f"{name} of {layout} without a dimension"


# Calls of tensors of one size, and of two nested ones.
OF_TWO = {
    "add of as many": lambda f, x: x + f.arange(2.0).reshape(2, 1, 1),
    "add of one": lambda f, x: x + f.ones(1, 1, 4),
    "add of more": lambda f, x: x + f.arange(3.0).reshape(3, 1, 1),
    "add of more dimensions": lambda f, x: x + f.ones(2, 2, 1, 1),
    "add of other lengths": lambda f, x: x + nested(f, "jagged", ((1, 4), (3, 4))),
    "matmul of as many": lambda f, x: x @ f.ones(2, 4, 1),
    "matmul of more": lambda f, x: x @ f.ones(5, 4, 1),
    "matmul of one": lambda f, x: x @ f.ones(1, 4, 1),
    "bmm": lambda f, x: f.bmm(x, f.ones(2, 4, 3)),
    "bmm of more": lambda f, x: f.bmm(x, f.ones(3, 4, 3)),
    "bmm of two dimensions": lambda f, x: f.bmm(x, f.ones(4, 4)),
    "bmm of nested": lambda f, x: f.bmm(x, x.transpose(1, 2)),
    "matmul of nested": lambda f, x: f.matmul(x, x.transpose(1, 2)),
    "matmul over lengths": lambda f, x: f.matmul(x.transpose(1, 2), x),
    "larger of two": lambda f, x: f.max(x, x * 2),
    "cat of other components": lambda f, x: f.cat([x, nested(f, "jagged", ((2, 4),))], 2),
    "without components": lambda f, x: x[2:2] * f.ones(1, 2, 2),
}
# PyTorch has none of these for strided ones.
SUPPORTED_HERE = {"add of as many", "add of one", "matmul of as many", "matmul of one"} | {
    "matmul over lengths",
    "larger of two",
}


@pytest.mark.parametrize("layout", ["jagged", "strided"])
@pytest.mark.parametrize("name", OF_TWO)
def test_what_pytorch_computes_of_two_tensors_is_its(name, layout):
    expected, found = (outcome(OF_TWO[name], f, layout) for f in (torch, flow))
    if not isinstance(expected, Exception):
        compare(expected, found)
    elif name not in SUPPORTED_HERE:
        assert isinstance(found, (RuntimeError, TypeError)), name


# A change of a jagged tensor of one row dimension: the dimension in which components differ, and
# whether its size is that of the tensor.
CHANGES = {
    "rows": (lambda x: x[0:1], 1, False),
    "every other": (lambda x: x[::2], 1, False),
    "all": (lambda x: x[:], 1, True),
    "part of all": (lambda x: x[:, 1:], 1, False),
    "columns": (lambda x: x[:, :, :2], 1, True),
    "a column": (lambda x: x[..., 0], 1, True),
    "a new dimension": (lambda x: x[:, None], 2, True),
    "a new last dimension": (lambda x: x[..., None], 1, True),
    "transposed column": (lambda x: x.transpose(1, 2)[:, 0], 1, True),
    "transposed columns": (lambda x: x.transpose(1, 2)[:, :2], 2, True),
    "transposed select": (lambda x: x.transpose(1, 2).select(1, 0), 1, True),
    "transposed squeeze": (lambda x: x.transpose(1, 2).squeeze(1), 2, True),
    "moved": (lambda x: x.movedim(1, 2), 2, True),
    "permuted": (lambda x: x.permute(0, 2, 1), 2, True),
    "unflattened": (lambda x: x.transpose(1, 2).unflatten(1, (2, 2)), 3, True),
    "flattened": (lambda x: x.unsqueeze(1).flatten(1, 2), 1, True),
    "flattened before": (
        lambda x: x.transpose(1, 2).unflatten(1, (2, 2)).flatten(1, 2),
        2,
        True,
    ),
    "halves of components": (lambda x: x.chunk(2, 1)[0], 1, False),
    "halves of columns": (lambda x: x.chunk(2, 2)[0], 1, True),
    "a component": (lambda x: x.chunk(2)[0], 1, False),
    "narrowed": (lambda x: x.narrow(1, 0, 1), 1, False),
    "joined": (lambda x: flow.cat([x, x], 1), 1, False),
    "one after another": (lambda x: flow.cat([x, x]), 1, False),
    "sum of columns": (lambda x: x.sum(2), 1, True),
}


@pytest.mark.parametrize("name", CHANGES)
def test_ragged_sizes_are_those_of_components(name):
    change, ragged_dim, is_same = CHANGES[name]
    x = nested(flow, "jagged")
    y = change(x)
    lengths = [part.shape[ragged_dim - 1] for part in y.unbind()]
    assert y.offsets().tolist() == [0, *np.cumsum(lengths).tolist()]
    assert (y.size(ragged_dim) == x.size(1)) is is_same
    assert None not in y.shape
    assert y.values().shape[ragged_dim - 1] == sum(lengths)


@pytest.mark.parametrize("layout", ["jagged", "strided"])
def test_a_number_takes_the_dimension_in_which_components_differ(layout):
    x = nested(flow, layout)
    expected = [part[0].tolist() for part in x.unbind()]
    for found in (x[:, 0], x.select(1, 0)):
        assert found.is_nested is (layout == "strided")
        assert [part.tolist() for part in found] == expected
