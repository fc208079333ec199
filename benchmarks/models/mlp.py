"""A three-layer perceptron, by default that of PyTorch's quickstart for 28 x 28 images."""

from benchmarks.models.training import Training, eager_step


def build(torch, batch=32, sizes=(784, 512, 512, 10), make_step=eager_step):
    """A training step of the perceptron with either library.

    Args:
        torch: the library, `torch` or `oneflow`.
        batch: rows per step.
        sizes: width of the input, the hidden layers and the output.
        make_step: makes a function of the parts of a step, see `training`.

    Returns:
        A function that runs one step and returns the loss tensor.
    """
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(sizes[0], sizes[1]),
        nn.ReLU(),
        nn.Linear(sizes[1], sizes[2]),
        nn.ReLU(),
        nn.Linear(sizes[2], sizes[3]),
    )
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(batch, sizes[0])
    labels = torch.randint(0, sizes[-1], (batch,))

    def loss_of(model, images, labels):
        return criterion(model(images), labels)

    return make_step(Training(model, loss_of, optimizer, (images, labels)))
