"""Training whose numbers are all exact, so that the order of sums changes no bit of them.

Weights and data are small whole numbers, the learning rate and momentum powers of two: in float64
nothing is rounded in the first two steps.
"""

import numpy as np

import oneflow as flow
from oneflow import nn

INPUTS = (np.arange(28).reshape(7, 4) % 5 - 2).astype(np.float64)
TARGETS = (np.arange(21).reshape(7, 3) % 3 - 1).astype(np.float64)


class Training:
    """An MLP with its optimizer, local or on a placement."""

    def __init__(self, placement=None, sbp=None):
        self.model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)).double()
        for number, parameter in enumerate(self.model.parameters()):
            numbers = np.arange(parameter.numel()).reshape(parameter.shape) % (3 + number) - 1.0
            parameter.data = flow.tensor(numbers)
        self.inputs, self.targets = flow.tensor(INPUTS), flow.tensor(TARGETS)
        if placement is not None:
            broadcast = [flow.sbp.broadcast] * placement.ndim
            self.model.to_global(placement, broadcast)
            for parameter in self.model.parameters():
                parameter.data = parameter.data.to_global(sbp=sbp)
            batch = [flow.sbp.split(0), *broadcast[1:]]
            self.inputs, self.targets = (
                tensor.to_global(placement, broadcast).to_global(sbp=batch)
                for tensor in (self.inputs, self.targets)
            )
        self.optimizer = flow.optim.SGD(self.model.parameters(), lr=1 / 64, momentum=0.5)

    def step(self):
        self.optimizer.zero_grad()
        ((self.model(self.inputs) - self.targets) ** 2).sum().backward()
        self.optimizer.step()
        return self

    def state_dict(self):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state):
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        return self

    def numbers(self):
        """All parameters and momenta."""
        tensors = [*self.model.parameters()]
        tensors += [s["momentum_buffer"] for s in self.optimizer.state.values()]
        return [tensor.numpy() for tensor in tensors]


def assert_equal(numbers, expected):
    assert len(numbers) == len(expected) == 8
    for mine, theirs in zip(numbers, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def assert_same_bits(one, other):
    assert_equal(one.numbers(), other.numbers())
