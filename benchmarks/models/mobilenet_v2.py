"""MobileNetV2 on 224 x 224 images, trained with SGD and momentum."""

from benchmarks.models.training import Training, eager_step

# Expansion, output channels, repetitions, stride of the first.
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def make(torch, classes=1000):
    """The model, written as in PyTorch."""
    nn = torch.nn

    def convolution(channels, out, kernel=1, stride=1, groups=1, activation=True):
        layers = [
            nn.Conv2d(channels, out, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(out),
        ]
        return layers + [nn.ReLU6(inplace=True)] * activation

    class InvertedResidual(nn.Module):
        def __init__(self, channels, out, stride, expansion):
            super().__init__()
            hidden = channels * expansion
            layers = convolution(channels, hidden) if expansion != 1 else []
            layers += convolution(hidden, hidden, 3, stride, hidden)
            layers += convolution(hidden, out, activation=False)
            self.layers = nn.Sequential(*layers)
            self.residual = stride == 1 and channels == out

        def forward(self, x):
            return x + self.layers(x) if self.residual else self.layers(x)

    layers = convolution(3, 32, 3, 2)
    channels = 32
    for expansion, out, repetitions, stride in STAGES:
        for index in range(repetitions):
            layers.append(InvertedResidual(channels, out, stride if index == 0 else 1, expansion))
            channels = out
    layers += convolution(channels, 1280)
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(1280, classes)]
    return nn.Sequential(*layers)


def build(torch, batch=8, size=224, make_step=eager_step):
    """A training step; see `mlp.build`."""
    model = make(torch)
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(batch, 3, size, size)
    labels = torch.randint(0, 1000, (batch,))

    def loss_of(model, images, labels):
        return criterion(model(images), labels)

    return make_step(Training(model, loss_of, optimizer, (images, labels)))
