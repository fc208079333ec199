"""Programs that use what surrounds a backward pass give on both libraries the same."""

from __future__ import annotations

import importlib

import pytest
import torch

from oneflow import mock_torch


def hooks_on_several_tensors(library):
    x, y, z = (library.ones(2, requires_grad=True) for _ in range(3))
    seen = []

    def note(grads):
        seen.append([None if grad is None else grad.tolist() for grad in grads])

    handle = library.autograd.graph.register_multi_grad_hook((x, y, z), note)
    product = (x * y * 3).sum()
    product.backward(retain_graph=True)
    product.backward(inputs=(y,), retain_graph=True)
    (z * 2).sum().backward()
    handle.remove()
    product.backward()
    return seen


def a_hook_on_the_first_gradient(library):
    x, y = (library.ones(2, requires_grad=True) for _ in range(2))
    seen = []
    library.autograd.graph.register_multi_grad_hook(
        (x, y), lambda grad: seen.append(grad.tolist()), mode="any"
    )
    for _ in range(2):
        (x * y).sum().backward()
    return seen


def hooks_on_saved_tensors_are_refused(library):
    graph, texts = library.autograd.graph, []

    def enter(context):
        try:
            with context:
                pass
        except RuntimeError as error:
            texts.append(str(error))

    hooks = graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    with graph.disable_saved_tensors_hooks("outer"):
        enter(hooks)
        with graph.disable_saved_tensors_hooks("inner"):
            enter(hooks)
    with hooks:
        enter(graph.disable_saved_tensors_hooks("within"))
    return texts


def saved_tensors_are_written_to(library):
    x = library.tensor([3.0], requires_grad=True)
    with library.autograd.graph.allow_mutation_on_saved_tensors() as context:
        assert context is not None
        copy = x.clone()
        view = copy.view_as(copy)
        square = copy**2
        view.sin_()
        square.backward()
        try:
            with library.autograd.graph.allow_mutation_on_saved_tensors():
                pass
        except RuntimeError:
            x.grad += 1
        product = (x * x).sum()
    try:
        product.backward()
    except AssertionError:
        x.grad += 10
    return x.grad.tolist()


def functions_are_called_at_the_end_of_a_pass(library):
    engine, order = library.autograd.Variable._execution_engine, []
    x = library.ones(1, requires_grad=True)
    y = x * 2

    def ask(name):
        def hook(grad):
            order.append(name)
            engine.queue_callback(lambda: order.append(f"after {name}"))

        return hook

    y.register_hook(ask("y"))
    x.register_hook(ask("x"))
    (y * y).sum().backward()
    return order


def gradients_of_closures_are_checked(library):
    x = library.tensor([0.5, 2.0], dtype=library.float64, requires_grad=True)
    seen = []

    def through_a_hook(given):
        product = given * given
        product.register_hook(seen.append)
        return product

    check = library.autograd.gradcheck
    closed = check(lambda given: x * x, (x,)), check(through_a_hook, (x,))
    inner = library.autograd.gradgradcheck(lambda given: x**3, (x,))
    try:
        wrong = check(lambda given: given * given.detach(), (x,))
    except library.autograd.gradcheck.__globals__["GradcheckError"]:
        wrong = "refused"
    return closed, inner, wrong, bool(seen), x.tolist()


def segments_stop_early(library):
    x = library.tensor([2.0], requires_grad=True)
    checkpoint = importlib.import_module(f"{library.__name__}.utils.checkpoint")
    for stop in (True, False):
        with checkpoint.set_checkpoint_early_stop(stop):
            checkpoint.checkpoint(lambda v: v.exp().sin(), x, use_reentrant=False).backward()
    return round(x.grad.item(), 4)


PROGRAMS = [
    hooks_on_several_tensors,
    a_hook_on_the_first_gradient,
    hooks_on_saved_tensors_are_refused,
    saved_tensors_are_written_to,
    functions_are_called_at_the_end_of_a_pass,
    gradients_of_closures_are_checked,
    segments_stop_early,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_give_what_they_give_on_pytorch(program):
    expected = program(torch)
    with mock_torch.enable():
        assert program(importlib.import_module("torch")) == expected
