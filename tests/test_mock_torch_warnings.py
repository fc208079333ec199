"""PyTorch's warnings come where the program imports PyTorch's name, and there alone."""

from __future__ import annotations

import importlib
import warnings

import pytest
import torch

import oneflow as flow
from oneflow import mock_torch
from tests.in_place import overrides_enabled


def schedule(library, kind="StepLR", *arguments):
    optimizer = library.optim.SGD([library.ones(1, requires_grad=True)], lr=0.1)
    return optimizer, getattr(library.optim.lr_scheduler, kind)(optimizer, *arguments)


def steps_the_schedule_first(library):
    _, scheduler = schedule(library, "ExponentialLR", 0.9)
    scheduler.step()
    scheduler.step()


def steps_the_optimizer_first(library):
    optimizer, scheduler = schedule(library, "StepLR", 1)
    optimizer.step()
    scheduler.step()


def steps_an_optimizer_whose_step_is_replaced(library):
    optimizer, scheduler = schedule(library, "LambdaLR", lambda step: 0.5)
    optimizer.step = lambda: None
    scheduler.step()


def goes_to_an_epoch(library, kind="StepLR"):
    optimizer, scheduler = schedule(library, kind, 2)
    optimizer.step()
    scheduler.step(3)


def goes_to_a_part_of_an_epoch(library):
    goes_to_an_epoch(library, "CosineAnnealingWarmRestarts")


def goes_on_in_a_sequence(library):
    optimizer, first = schedule(library, "ConstantLR")
    second = library.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    scheduler = library.optim.lr_scheduler.SequentialLR(optimizer, [first, second], [1])
    optimizer.step()
    scheduler.step()
    scheduler.step()


def gives_a_parameter_twice(library):
    x = library.ones(1, requires_grad=True)
    library.optim.SGD([x, x], lr=0.1)


def initializes_nothing(library):
    library.nn.init.kaiming_uniform_(library.empty(0, 2))
    library.nn.init.kaiming_normal_(library.empty(0, 2))


def reads_the_gradient_of_a_result(library):
    x = library.ones(1, requires_grad=True)
    y, kept = x * 2, x * 3
    kept.retain_grad()
    for tensor in (x, kept, y.detach(), y):
        assert tensor.grad is None


def counts_with_the_end(library):
    library.range(0, 3)


def draws_integers_that_are_rounded(library):
    library.zeros(2, dtype=library.float16).random_(0, 2**11 + 1)
    library.zeros(2, dtype=library.float16).random_(0, 2**11 + 2)


def indexes_by_integers_as_masks(library):
    mask = library.tensor([1, 0], dtype=library.uint8)
    x = library.zeros(2)
    assert x[mask].shape == x[mask.bool()].shape == (1,)


def resizes_what_it_writes_to(library):
    x = library.ones(3)
    for size in (0, 3, 2, (3, 1)):
        library.exp(x, out=library.empty(size))
    library.zeros(3, out=library.empty(2))
    library.sort(x, out=(library.empty(2), library.empty(0, dtype=library.int64)))


def marks_what_is_no_input(library):
    class Marks(library.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.mark_dirty(y)
            return y

    Marks.apply(library.ones(1, requires_grad=True))


PROGRAMS = [
    reads_the_gradient_of_a_result,
    counts_with_the_end,
    draws_integers_that_are_rounded,
    indexes_by_integers_as_masks,
    resizes_what_it_writes_to,
    marks_what_is_no_input,
    steps_the_schedule_first,
    steps_the_optimizer_first,
    steps_an_optimizer_whose_step_is_replaced,
    goes_to_an_epoch,
    goes_to_a_part_of_an_epoch,
    goes_on_in_a_sequence,
    gives_a_parameter_twice,
    initializes_nothing,
]


def warned(program, library):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        program(library)
    return [(warning.category, warning.filename) for warning in found]


@pytest.mark.parametrize("program", PROGRAMS)
def test_warnings_are_those_of_pytorch(program):
    expected = [category for category, _ in warned(program, torch)]
    with mock_torch.enable():
        found = warned(program, importlib.import_module("torch"))
    assert [category for category, _ in found] == expected
    assert {file for _, file in found} <= {__file__}


@pytest.mark.parametrize("program", [resizes_what_it_writes_to, initializes_nothing])
def test_warnings_name_the_line_of_the_user_where_functions_ask_classes(program):
    with mock_torch.enable(), overrides_enabled():
        files = {file for _, file in warned(program, importlib.import_module("torch"))}
    assert files == {__file__}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_of_oneflow_are_not_warned(program):
    assert warned(program, flow) == []


def test_instances_of_functions_are_not_called() -> None:
    with mock_torch.enable():
        import torch

        class Same(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x

        with pytest.raises(RuntimeError, match="Legacy autograd function"):
            Same()(torch.ones(1))
    assert Same()(flow.ones(1)).item() == 1
