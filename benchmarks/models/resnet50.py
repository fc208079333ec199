"""ResNet-50 on 224 x 224 images, trained with SGD and momentum."""

from benchmarks.models.training import Training, eager_step


def make(torch, classes=1000):
    """The model, written as in PyTorch."""
    nn = torch.nn

    class Bottleneck(nn.Module):
        def __init__(self, channels, width, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(width)
            self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
            self.bn3 = nn.BatchNorm2d(4 * width)
            self.relu = nn.ReLU(inplace=True)
            self.downsample = None
            if stride != 1 or channels != 4 * width:
                self.downsample = nn.Sequential(
                    nn.Conv2d(channels, 4 * width, 1, stride, bias=False),
                    nn.BatchNorm2d(4 * width),
                )

        def forward(self, x):
            identity = x if self.downsample is None else self.downsample(x)
            x = self.relu(self.bn1(self.conv1(x)))
            x = self.relu(self.bn2(self.conv2(x)))
            x = self.bn3(self.conv3(x))
            x += identity
            return self.relu(x)

    layers = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    channels = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            layers.append(Bottleneck(channels, width, stride if block == 0 else 1))
            channels = 4 * width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)]
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
