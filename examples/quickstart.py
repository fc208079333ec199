"""OneFlow's quickstart: a three-layer perceptron on MNIST, written as in PyTorch.

Run ``python examples/quickstart.py --epochs 1``.
"""

from command_line import make_parser, run
from curves import plot_curves
from digits import write_idx_files
from tqdm import tqdm

import oneflow as flow
from oneflow import nn
from oneflow.utils.data import DataLoader
from oneflow.utils.vision import datasets, transforms


class NeuralNetwork(nn.Module):
    """Three linear layers on flattened images."""

    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(28 * 28, 512),
            nn.ReLU(),
            nn.Linear(512, 512),
            nn.ReLU(),
            nn.Linear(512, 10),
        )

    def forward(self, x):
        return self.linear_relu_stack(self.flatten(x))


def train(loader, model, loss_fn, optimizer):
    """One pass over the data; returns the losses."""
    model.train()
    losses = []
    for images, labels in tqdm(loader, unit="batch"):
        loss = loss_fn(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return [loss.item() for loss in losses]


def predictions(loader, model):
    """The logits of every image."""
    model.eval()
    with flow.no_grad():
        return flow.cat([model(images) for images, _ in loader])


def main():
    """Train, save, reload, compare."""
    parser = make_parser(__doc__, "quickstart")
    parser.add_argument("--epochs", type=int, default=3, help="passes over the training images")
    options = parser.parse_args()
    folder = options.output
    write_idx_files(folder)
    train_set, test_set = (
        datasets.MNIST(folder, train=train, transform=transforms.ToTensor(), download=False)
        for train in (True, False)
    )
    flow.manual_seed(0)
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=250)
    model = NeuralNetwork()
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for epoch in range(options.epochs):
        found = train(train_loader, model, nn.CrossEntropyLoss(), optimizer)
        print(f"epoch {epoch + 1}: loss from {found[0]:.4f} to {found[-1]:.4f}")
        losses += found
    before = predictions(test_loader, model)
    flow.save(model.state_dict(), folder / "model.flow")
    again = NeuralNetwork()
    again.load_state_dict(flow.load(folder / "model.flow"))
    same = bool((predictions(test_loader, again) == before).all())
    print(f"the reloaded model gives equal predictions: {same}")
    curve = {"loss": (range(len(losses)), losses)}
    plot_curves(folder / "losses.png", curve, title="Loss of each batch", xlabel="batch")
    print(f"the model and a plot of its losses are in {folder}")


if __name__ == "__main__":
    run(main)
