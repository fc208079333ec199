"""On CPUs numbers are drawn once, however many operations of a program read them."""

import re

import pytest

import oneflow as flow
from oneflow import nn
from oneflow.runtime.program_cache import PROGRAMS
from tests.oracle import eager_mode

SHAPE = (4, 6, 16)
DRAWS = {
    "dropout": nn.Dropout(0.3),
    "alpha_dropout": nn.AlphaDropout(0.3),
    "rand": lambda x: x + flow.rand(x.shape),
    "randn": lambda x: x + flow.randn(x.shape),
    "randint": lambda x: x + flow.randint(0, 3, x.shape),
    "bernoulli": lambda x: x * flow.bernoulli(flow.full(x.shape, 0.3)),
    "exponential": lambda x: x + flow.empty(x.shape).exponential_(),
    "geometric": lambda x: x + flow.empty(x.shape).geometric_(0.4),
}


class Draw(nn.Module):
    """A layer that changes its input by random numbers."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def compiled_text(draw):
    """The text of the compiled step of a Transformer's layer with three draws."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    layer.dropout, layer.dropout1, layer.dropout2 = (Draw(draw) for _ in range(3))
    x = flow.ones(SHAPE, requires_grad=True)
    for tensor in (x, *layer.parameters()):
        tensor.numpy()
    before = set(PROGRAMS)
    with eager_mode("compiled"):
        layer(x).square().mean().backward()
        x.grad.numpy()
    (program,) = [PROGRAMS[key] for key in PROGRAMS if key not in before]
    return program.executable.compile().hlo()


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_are_drawn_once(name):
    products = re.findall(r"= u64\[[\d,]+\]\S* multiply\(", compiled_text(DRAWS[name]))
    # Dropout draws once more for its gradient, in eager programs.
    draws = 6 if "dropout" in name else 3
    # Philox has ten rounds of two products, of which the last may be left out; integers three more.
    assert 19 * draws <= len(products) <= 23 * draws
