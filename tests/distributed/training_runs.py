"""Small models to train in many ways, and their losses on one device."""

import functools

import oneflow as flow
from examples import plans

STEPS = 20
# Relative, of each loss. Found were 4e-7: sums in another order, in float32.
TOLERANCE = 1e-5


def mlp():
    """The perceptron, a maker of its optimizer, and inputs."""
    model = plans.Perceptron([16, 32, 32, 4])
    return (
        model,
        lambda model: flow.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
        (flow.randn(16, 16), flow.randint(0, 4, (16,))),
    )


def gpt():
    """The GPT, a maker of its optimizer, and inputs."""
    model = plans.GPT(vocabulary=32, context=8, width=16, heads=4, layers=1)
    tokens = tuple(flow.randint(0, 32, (16, 8)) for _ in range(2))
    return model, lambda model: flow.optim.AdamW(model.parameters(), lr=1e-2), tokens


def wide_deep():
    """The Wide & Deep, a maker of its optimizer, and inputs."""
    model = plans.WideDeep(fields=4, rows=10, width=8, numbers=4, hidden=16)
    inputs = (
        flow.randint(0, 10, (16, 4)),
        flow.randn(16, 4),
        flow.randint(0, 2, (16, 1)).float(),
    )
    return model, lambda model: flow.optim.Adam(model.parameters(), lr=1e-2), inputs


MODELS = {"mlp": mlp, "gpt": gpt, "wide_deep": wide_deep}


def seeded(kind):
    """The same model, optimizer and inputs every time."""
    flow.manual_seed(0)
    return MODELS[kind]()


def eager_losses(model, optimizer, inputs):
    """The loss of every step of plain training."""
    losses = []
    # Compiles a step once as a whole, not every operator on its own first.
    flow.use_deterministic_algorithms(True)
    for _ in range(STEPS):
        loss = model(*inputs)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    flow.use_deterministic_algorithms(False)
    return losses


@functools.cache
def one_device_losses(kind):
    """The losses on one device."""
    model, optimizer, inputs = seeded(kind)
    return eager_losses(model, optimizer(model), inputs)
