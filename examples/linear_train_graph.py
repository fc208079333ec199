"""A polynomial fitted to a sine with `nn.Graph`: prediction, training, debug output, listing.

Run ``python examples/linear_train_graph.py``.
"""

import argparse
import math

import oneflow as flow
from oneflow import nn


class TrainGraph(nn.Graph):
    """One training step of `model`."""

    def __init__(self, model, loss_fn, optimizer):
        super().__init__()
        self.model = model
        self.loss_fn = loss_fn
        self.add_optimizer(optimizer)

    def build(self, x, y):
        loss = self.loss_fn(self.model(x), y)
        loss.backward()
        return loss


class PredictGraph(nn.Graph):
    """The forward pass of `model`."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def build(self, x):
        return self.model(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=500)
    parser.add_argument("--debug", type=int, default=-1)
    options = parser.parse_args()

    flow.manual_seed(0)
    x = flow.linspace(-math.pi, math.pi, 2000)
    y = flow.sin(x)
    powers = x.unsqueeze(-1).pow(flow.tensor([1, 2, 3]))

    model = nn.Sequential(nn.Linear(3, 1), nn.Flatten(0, 1))
    loss_fn = nn.MSELoss(reduction="sum")
    graph = TrainGraph(model, loss_fn, flow.optim.SGD(model.parameters(), lr=1e-6))
    graph.debug(options.debug)
    losses = [graph(powers, y) for _ in range(options.iterations)]
    print(f"loss {losses[0].item():.2f} -> {losses[-1].item():.2f}")

    predict = PredictGraph(model)
    error = (predict(powers) - y).pow(2).mean().item()
    print(f"mean squared error of the prediction: {error:.4f}")
    print(graph)


if __name__ == "__main__":
    main()
