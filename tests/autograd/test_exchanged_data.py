"""Computed tensors that get other memory (`data`, `set_`), and leaves that only a graph holds."""

import gc
import weakref
from typing import Any

import pytest

import oneflow as flow
from tests.autograd.both import agree

NEW_DATA = {
    "of the same spec": lambda lib: lib.ones(3),
    "of a wider shape": lambda lib: lib.ones(2, 3),
    "of a wider shape and dtype": lambda lib: lib.ones(2, 1, 3, dtype=lib.float64),
    "of a narrower dtype": lambda lib: lib.ones(3, dtype=lib.float16),
    "of integers": lambda lib: lib.ones(3, dtype=lib.int64),
    "of another size": lambda lib: lib.ones(4),
    "of less dimensions": lambda lib: lib.ones(()),
    "of one element": lambda lib: lib.ones(1),
}
UNFIT = ("of another size", "of less dimensions", "of one element")


@pytest.mark.parametrize("data", NEW_DATA)
def test_a_computed_tensor_with_other_data_keeps_its_history(data: str):
    def case(lib: Any) -> Any:
        x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x * 2
        seen = []
        y.register_hook(lambda grad: seen.append(grad.clone()))
        y.retain_grad()
        part = y[1:]
        try:
            y.data = NEW_DATA[data](lib)
        except RuntimeError:
            seen.append("refused")
        assert y.requires_grad
        assert not y.is_leaf
        try:
            (y.sum() * 3).backward(retain_graph=True)
        except RuntimeError:
            return "no gradient", y, x.grad
        part.sum().backward()
        return y, x.grad, y.grad, seen

    agree(case)


@pytest.mark.parametrize("data", UNFIT)
def test_gradients_that_do_not_fit_are_refused(data: str):
    def case(lib: Any) -> None:
        y = lib.ones(3, requires_grad=True) * 2
        y.data = NEW_DATA[data](lib)
        y.sum().backward()

    agree(case, "but expected shape compatible with [3]")


def test_a_leaf_that_refuses_data_asks_for_gradients_as_before():
    def case(lib: Any) -> Any:
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        with pytest.raises(RuntimeError, match="must be floating point or complex dtype"):
            x.data = lib.ones(2, dtype=lib.int64)
        (x * x).sum().backward()
        return x, x.requires_grad, x.grad

    agree(case)


@pytest.mark.parametrize("records", [True, False])
@pytest.mark.parametrize("source", ["of the same shape", "of another shape", "none"])
def test_set_has_no_derivative(source: str, records: bool):
    def case(lib: Any) -> Any:
        x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = x * 2
        arguments = {"of the same shape": [lib.ones(3)], "of another shape": [lib.ones(2, 3)]}
        with lib.set_grad_enabled(records):
            y.set_(*arguments.get(source, []))
        result = [y, y.requires_grad, y.is_leaf]
        try:
            y.sum().backward()
        except RuntimeError:
            return [*result, "refused", x.grad]
        return [*result, x.grad]

    agree(case)


def test_hooks_of_a_leaf_that_only_its_graph_holds():
    def case(lib: Any) -> Any:
        seen = []
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.clone()))
        x = (x * x).sum()
        gc.collect()
        x.backward(retain_graph=True)
        x.backward()
        return seen

    agree(case)


def test_a_leaf_whose_hook_was_removed_is_freed():
    x = flow.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(print).remove()
    leaf = weakref.ref(x)
    del x
    assert leaf() is None
