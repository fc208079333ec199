"""Small models that are trained data parallel, for any library with PyTorch's interface.

A row is a function of a library (`t`) and a rank that returns a `Training`; steps, gradients and
buffers differ between the ranks wherever they can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

STEPS = 3
ROWS: dict[str, Callable[..., Training]] = {}


@dataclass
class Training:
    """The model that a row trains, and the way it does.

    Attributes:
        module: the module, before it is made data parallel.
        loss: returns the loss of a step, given the parallel module, the step and its inputs.
        options: of `DistributedDataParallel`.
        optimizers: makes the optimizers of the inner module.
        step: does a step in place of the usual one; returns the loss.
        prepare: is called with the parallel module before the first step.
        after_backward: is called with the inner module between the backward pass and the update.
        zero_grad: options of `zero_grad`; None: gradients are never taken away.
        needs_wrapper: whether the row needs a module around its own, which OneFlow does without.
    """

    module: Any
    loss: Callable[[Any, int, Any], Any]
    options: dict[str, Any] = field(default_factory=dict)
    optimizers: Callable[[Any], list[Any]] | None = None
    step: Callable[..., Any] | None = None
    prepare: Callable[[Any], None] | None = None
    after_backward: Callable[[Any, int], None] | None = None
    zero_grad: dict[str, bool] | None = field(default_factory=lambda: {"set_to_none": True})
    needs_wrapper: bool = False


def row(make: Callable[..., Training]) -> Callable[..., Training]:
    ROWS[make.__name__] = make
    return make


def inputs(t, step, rank, shape=(4, 3)):
    """The inputs of a rank in a step."""
    values = np.random.default_rng([step, rank]).standard_normal(shape)
    return t.tensor(values.astype(np.float32))


def fill(t, module, rank):
    """Give parameters values that depend on the rank, as data parallelism starts with rank 0's."""
    with t.no_grad():
        for index, parameter in enumerate(module.parameters()):
            values = np.random.default_rng([index, rank]).uniform(-1, 1, tuple(parameter.shape))
            parameter.copy_(t.tensor(values).to(parameter.dtype))
    return module


def with_forward(t, forward, *names, buffers=(), shape=(3,)):
    """A module with parameters and buffers of these names, and a forward pass."""

    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            for name in names:
                setattr(self, name, t.nn.Parameter(t.zeros(shape)))
            for name, value in dict(buffers).items():
                self.register_buffer(name, value)

    Net.forward = forward
    return Net()


def mlp(t):
    return t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Tanh(), t.nn.Linear(4, 2))


def mean_square(model, step, x):
    return (model(x) ** 2).mean()


def momentum(t):
    return lambda module: [t.optim.SGD(module.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)]
