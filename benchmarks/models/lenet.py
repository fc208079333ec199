"""A LeNet-like convolutional network on 28 x 28 images, trained with Adam."""

from benchmarks.models.training import Training, eager_step


def build(torch, batch=64, make_step=eager_step):
    """A training step; see `mlp.build`."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 5 * 5, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    )
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    images = torch.randn(batch, 1, 28, 28)
    labels = torch.randint(0, 10, (batch,))

    def loss_of(model, images, labels):
        return criterion(model(images), labels)

    return make_step(Training(model, loss_of, optimizer, (images, labels)))
