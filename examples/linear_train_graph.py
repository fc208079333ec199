"""A polynomial fitted to a sine with `nn.Graph`: prediction, training, debug output, listing.

Run ``python examples/linear_train_graph.py``.
"""

import math

from command_line import make_parser, run
from curves import plot_curves
from tqdm import trange

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
    """Train, predict, draw, list."""
    parser = make_parser(__doc__, "linear_train_graph")
    parser.add_argument("--iterations", type=int, default=500, help="steps of training")
    parser.add_argument(
        "--debug", type=int, default=-1, help="what the graph says: -1 nothing to 3"
    )
    options = parser.parse_args()

    flow.manual_seed(0)
    x = flow.linspace(-math.pi, math.pi, 2000)
    y = flow.sin(x)
    powers = x.unsqueeze(-1).pow(flow.tensor([1, 2, 3]))

    model = nn.Sequential(nn.Linear(3, 1), nn.Flatten(0, 1))
    loss_fn = nn.MSELoss(reduction="sum")
    graph = TrainGraph(model, loss_fn, flow.optim.SGD(model.parameters(), lr=1e-6))
    graph.debug(options.debug)
    losses = [graph(powers, y) for _ in trange(options.iterations, unit="step")]
    print(f"loss {losses[0].item():.2f} -> {losses[-1].item():.2f}")

    predicted = PredictGraph(model)(powers)
    print(f"mean squared error of the prediction: {(predicted - y).pow(2).mean().item():.4f}")
    print(graph)
    picture = options.output / "fit.png"
    curves = {"sine": (x.tolist(), y.tolist()), "polynomial": (x.tolist(), predicted.tolist())}
    plot_curves(picture, curves, title=f"A polynomial after {options.iterations} steps")
    print(f"the fit is drawn in {picture}")


if __name__ == "__main__":
    run(main)
