"""OneFlow's quickstart: a three-layer perceptron on MNIST, written as in PyTorch.

Run ``python examples/quickstart.py --epochs 1``.
"""

import argparse
import tempfile
from pathlib import Path

from digits import write_idx_files

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
    for images, labels in loader:
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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_idx_files(Path(folder))
        train_set, test_set = (
            datasets.MNIST(folder, train=train, transform=transforms.ToTensor(), download=False)
            for train in (True, False)
        )
        flow.manual_seed(0)
        train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
        test_loader = DataLoader(test_set, batch_size=250)
        model = NeuralNetwork()
        optimizer = flow.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(options.epochs):
            losses = train(train_loader, model, nn.CrossEntropyLoss(), optimizer)
            print(f"epoch {epoch + 1}: loss from {losses[0]:.4f} to {losses[-1]:.4f}")
        before = predictions(test_loader, model)
        flow.save(model.state_dict(), Path(folder) / "model.flow")
        again = NeuralNetwork()
        again.load_state_dict(flow.load(Path(folder) / "model.flow"))
        same = bool((predictions(test_loader, again) == before).all())
        print(f"the reloaded model gives equal predictions: {same}")


if __name__ == "__main__":
    main()
