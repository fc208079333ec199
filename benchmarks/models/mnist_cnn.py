"""The network of `examples/mnist.py` for digits of 28 x 28 pixels."""


def make(torch):
    """The model, written as in PyTorch."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * 7 * 7, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )
