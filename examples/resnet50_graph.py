"""ResNet-50 trained with `nn.Graph` on synthetic images, beside the same steps in eager mode.

python examples/resnet50_graph.py --synthetic --iters 20
python examples/resnet50_graph.py --synthetic --iters 8 --blocks 1 1 1 1 --width 8 --size 32
"""

import copy
import time

from command_line import make_parser, run
from tqdm import tqdm

import oneflow as flow
from oneflow import nn


class Bottleneck(nn.Module):
    """Three convolutions beside a shortcut."""

    def __init__(self, channels, width, stride):
        super().__init__()
        out = 4 * width
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU()
        self.shortcut = nn.Identity()
        if stride != 1 or channels != out:
            convolution = nn.Conv2d(channels, out, 1, stride, bias=False)
            self.shortcut = nn.Sequential(convolution, nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        return self.relu(self.bn3(self.conv3(y)) + self.shortcut(x))


def make_resnet(blocks, width, classes):
    """A residual network of bottlenecks."""
    layers = [
        nn.Conv2d(3, width, 7, 2, 3, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    ]
    channels = width
    for stage, count in enumerate(blocks):
        for index in range(count):
            inner = width * 2**stage
            layers.append(Bottleneck(channels, inner, 2 if stage and not index else 1))
            channels = 4 * inner
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)
    )


class TrainGraph(nn.Graph):
    """One training step."""

    def __init__(self, model, loss_fn, optimizer):
        super().__init__()
        self.model = model
        self.loss_fn = loss_fn
        self.add_optimizer(optimizer)

    def build(self, images, labels):
        loss = self.loss_fn(self.model(images), labels)
        loss.backward()
        return loss


def make_optimizer(model, options):
    return flow.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9)


def parse_options():
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("--synthetic", action="store_true", help="random images, the only ones")
    add("--iters", type=int, default=20, help="steps of the graph; eagerly it takes up to 5")
    add("--batch", type=int, default=8, help="images of a step")
    add("--size", type=int, default=224, help="height and width of the images")
    add("--width", type=int, default=64, help="channels of the first convolution")
    add("--blocks", type=int, nargs=4, default=[3, 4, 6, 3], help="blocks of each stage")
    add("--classes", type=int, default=10, help="number of classes")
    add("--lr", type=float, default=0.01, help="learning rate")
    return parser.parse_args()


def main():
    """Train eagerly and as a graph, and compare."""
    options = parse_options()
    flow.manual_seed(0)
    model = make_resnet(options.blocks, options.width, options.classes)
    twin = copy.deepcopy(model)
    images = flow.randn(options.batch, 3, options.size, options.size)
    labels = flow.randint(0, options.classes, (options.batch,))
    loss_fn = nn.CrossEntropyLoss()

    optimizer = make_optimizer(twin, options)
    eager = []
    for _ in tqdm(range(min(5, options.iters)), desc="eager", unit="step"):
        loss = loss_fn(twin(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        eager.append(loss.item())

    graph = TrainGraph(model, loss_fn, make_optimizer(model, options))
    static = []
    progress = tqdm(range(options.iters), desc="graph", unit="step")
    for index in progress:
        start = time.perf_counter()
        static.append(graph(images, labels).item())
        seconds = time.perf_counter() - start
        progress.write(f"iteration {index}: loss {static[-1]:.4f}, {seconds:.3f} s")
    gap = max(abs(a - b) for a, b in zip(eager, static, strict=False))
    print(f"largest difference from eager mode in {len(eager)} steps: {gap:.2e}")
    print(f"loss {static[0]:.4f} -> {static[-1]:.4f}")


if __name__ == "__main__":
    run(main)
