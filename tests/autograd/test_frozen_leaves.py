"""Leaves that stop asking for gradients, and ask again, between a forward and a backward pass."""

from typing import Any

import pytest

from tests.autograd.both import agree

# Changes of the leaf `x` after `y` was computed of it.
CHANGES = {
    "frozen": lambda x: x.requires_grad_(False),
    "by the attribute": lambda x: setattr(x, "requires_grad", False),
    "thawed": lambda x: x.requires_grad_(False).requires_grad_(),
    "thawed after a write": lambda x: x.requires_grad_(False).mul_(3).requires_grad_(),
    "frozen again": lambda x: x.requires_grad_(False).requires_grad_().requires_grad_(False),
    "given other data": lambda x: setattr(x, "data", x.data * 3),
    "given data of another dtype": lambda x: setattr(x, "data", x.data.double()),
    "detached in place": lambda x: x.detach_(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_backward_adds_to_leaves_that_ask_for_gradients(change: str):
    def case(lib: Any) -> Any:
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        x.grad = lib.ones(2)
        other = lib.tensor([3.0, 4.0], requires_grad=True)
        y = (other * (x + 1) * 2).sum()
        CHANGES[change](x)
        y.backward()
        return x.requires_grad, x.grad, other.grad

    agree(case)


@pytest.mark.parametrize("change", CHANGES)
def test_grad_of_leaves_that_ask_for_gradients(change: str):
    def case(lib: Any) -> Any:
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        y = ((x + 1) * 2).sum()
        CHANGES[change](x)
        try:
            return lib.autograd.grad(y, x) if x.requires_grad else None
        except RuntimeError:
            return "not used"

    agree(case)


@pytest.mark.parametrize("change", CHANGES)
def test_post_hooks_run_whether_a_gradient_is_added_or_not(change: str):
    def case(lib: Any) -> Any:
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        seen = []
        x.register_post_accumulate_grad_hook(lambda leaf: seen.append((leaf is x, leaf.grad)))
        y = (x * 2).sum()
        CHANGES[change](x)
        y.backward()
        return seen

    agree(case)


def test_gradients_of_a_frozen_leaf_meet_its_hooks():
    def case(lib: Any) -> Any:
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        seen = []
        x.register_hook(lambda grad: seen.append(grad.clone()))
        y = (x * 2).sum()
        x.requires_grad_(False)
        y.backward(retain_graph=True)
        x.requires_grad_(True)
        y.backward()
        return seen, x.grad

    agree(case)


def test_layers_frozen_before_the_backward_pass():
    def case(lib: Any) -> Any:
        model = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Tanh(), lib.nn.Linear(2, 1))
        with lib.no_grad():
            for parameter in model.parameters():
                parameter.copy_(lib.arange(1.0, parameter.numel() + 1).reshape(parameter.shape))
        loss = model(lib.ones(3, 2)).sum()
        model[2].requires_grad_(False)
        model[0].bias.requires_grad = False
        loss.backward()
        return [parameter.grad for parameter in model.parameters()]

    agree(case)
