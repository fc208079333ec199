"""PyTorch's `_foreach_` functions on lists of tensors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow

SHAPES = [(2, 3), (), (4,)]
NUMBERS = [0.5, 2.0, 1.5]


def names():
    """PyTorch's names."""
    return [name for name in dir(torch) if name.startswith("_foreach_")]


def arrays(seed):
    random = np.random.default_rng(seed)
    return [random.uniform(0.2, 0.9, shape) for shape in SHAPES]


def arguments(name, lib):
    """Lists of what may be given beside the first list, in each form."""
    base = name.removeprefix("_foreach_").removesuffix("_")
    lists = [[lib.tensor(array) for array in arrays(seed)] for seed in (1, 2)]
    if base in ("addcdiv", "addcmul"):
        return [(*lists,), (*lists, 0.5), (*lists, NUMBERS)]
    if base == "lerp":
        return [(lists[0], 0.25), (lists[0], lists[1])]
    if base in ("add", "sub", "mul", "div", "clamp_min", "clamp_max", "maximum", "minimum", "pow"):
        return [(lists[0],), (0.5,), (NUMBERS,)]
    if base == "copy":
        return [(lists[0],)]
    if base in ("norm", "powsum"):
        return [(), (1,)]
    return [()]


def matrices(lib):
    return [lib.tensor(np.arange(4.0).reshape(2, 2) + n) for n in range(2)]


def assert_same_list(mine, theirs):
    for one, other in zip(mine, theirs, strict=True):
        assert tuple(one.shape) == tuple(other.shape)
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12)


@pytest.mark.parametrize(
    "name", [function_name for function_name in names() if function_name != "_foreach_mm"]
)
def test_each_form_is_as_in_pytorch(name):
    for number in range(len(arguments(name, flow))):
        lists, results = [], []
        for lib in (flow, torch):
            tensors = [lib.tensor(array) for array in arrays(0)]
            results.append(getattr(lib, name)(tensors, *arguments(name, lib)[number]))
            lists.append(tensors)
        assert_same_list(*lists)
        if name.endswith("_"):
            assert results[0] is None
        else:
            assert type(results[0]) is tuple
            assert_same_list(*results)


def test_products_numbers_with_tensors_and_options():
    mine, theirs = ((lib._foreach_mm(matrices(lib), matrices(lib))) for lib in (flow, torch))
    assert_same_list(mine, theirs)
    for lib in (flow, torch):
        tensors = [lib.tensor([1.0, 2.0])]
        (power,) = lib._foreach_pow(2.0, tensors)
        assert power.tolist() == [2.0, 4.0]
        (total,) = lib._foreach_add(tensors, tensors, alpha=3)
        assert total.tolist() == [4.0, 8.0]
        (product,) = lib._foreach_addcmul(tensors, tensors, tensors, value=2)
        assert product.tolist() == [3.0, 10.0]
        (product,) = lib._foreach_mul(tensors, lib.tensor(2.0))
        assert product.tolist() == [2.0, 4.0]


def test_gradients_pass():
    x = flow.ones(2, requires_grad=True)
    (y,) = flow._foreach_mul([x], 3.0)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    "misuse",
    [
        lambda lib: lib._foreach_abs([]),
        lambda lib: lib._foreach_add([lib.ones(2)], [lib.ones(2), lib.ones(2)]),
        lambda lib: lib._foreach_mul([lib.ones(2)], [1.0, 2.0]),
    ],
)
def test_lists_that_do_not_fit(misuse):
    for lib in (torch, flow):
        with pytest.raises(RuntimeError):
            misuse(lib)


def test_other_names_are_unknown():
    with pytest.raises(AttributeError):
        _ = flow._foreach_nothing
