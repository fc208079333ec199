"""A program of a user who checks types: no expression in it is of an unknown type."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import oneflow as flow
import oneflow.nn.functional as F
from oneflow import nn, optim
from oneflow.autograd.function import Function, FunctionCtx
from oneflow.utils.data import DataLoader, Dataset, TensorDataset, random_split


@dataclass
class Options:
    """Options of the program."""

    hidden: int = 32
    classes: int = 10
    rate: float = 1e-3
    epochs: int = 1


class Attention(nn.Module):
    """Attention of one head."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, 3 * width)
        self.norm = nn.LayerNorm(width)
        self.scale = 1 / math.sqrt(width)

    def forward(self, x: flow.Tensor) -> flow.Tensor:
        query, key, value = self.project(self.norm(x)).chunk(3, dim=-1)
        weights = F.softmax((query @ key.transpose(-2, -1)) * self.scale, dim=-1)
        return x + weights @ value


class Net(nn.Module):
    """Patches of images, attention between them, and a class."""

    def __init__(self, options: Options) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, options.hidden, kernel_size=4, stride=4)
        self.drop = nn.Dropout(0.1)
        self.attention = Attention(options.hidden)
        self.head = nn.Linear(options.hidden, options.classes)

    def forward(self, images: flow.Tensor) -> flow.Tensor:
        x = F.relu(self.stem(images)).flatten(2).permute(0, 2, 1)
        x = self.drop(self.attention(x))
        return self.head(x.mean(dim=1))


class TrainStep(nn.Graph):
    """One step, compiled."""

    def __init__(self, net: Net, optimizer: optim.Optimizer) -> None:
        super().__init__()
        self.net = net
        self.criterion = nn.CrossEntropyLoss()
        self.add_optimizer(optimizer)

    def build(self, images: flow.Tensor, labels: flow.Tensor) -> flow.Tensor:
        loss = self.criterion(self.net(images), labels)
        loss.backward()
        return loss


class Cube(Function):
    """A function with a backward pass of its own."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: flow.Tensor) -> flow.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: FunctionCtx, grad: flow.Tensor) -> flow.Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad


class Squares(Dataset[flow.Tensor]):
    """The first square numbers."""

    def __getitem__(self, index: int) -> flow.Tensor:
        return flow.tensor(float(index * index))

    def __len__(self) -> int:
        return 16


@flow.no_grad()
def accuracy(net: Net, images: flow.Tensor, labels: flow.Tensor) -> float:
    """Return the share of images whose class is found."""
    net.eval()
    scores, classes = net(images).max(dim=1)
    best = flow.sort(scores, descending=True).values[0]
    found = (classes == labels).float().mean().item()
    return found if best.isfinite().all() else 0.0


def train(net: Net, loader: DataLoader[list[flow.Tensor]], options: Options) -> list[float]:
    """Train `net`; return the losses."""
    optimizer = optim.AdamW(net.parameters(), lr=options.rate, weight_decay=0.01)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    losses: list[float] = []
    for _ in range(options.epochs):
        for images, labels in loader:
            with flow.autocast("cpu", dtype=flow.bfloat16):
                loss = F.cross_entropy(net(images), labels)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        schedule.step()
    return losses


def shard(net: Net, images: flow.Tensor) -> flow.Tensor:
    """Run the network on two devices, a half of the images on each."""
    devices = flow.placement("cpu", [0, 1])
    net.to_global(placement=devices, sbp=flow.sbp.broadcast)
    split = images.to_global(placement=devices, sbp=flow.sbp.split(0))
    return net(split).to_local()


def spread(x: flow.Tensor) -> flow.Tensor:
    """Return the softmax of the columns' sums, with names of NumPy's and PyTorch's, and `out`."""
    sums = flow.empty(1, x.size(1))
    flow.sum(x, axis=0, keepdims=True, out=sums)
    return F.softmax(input=flow.add(sums, sums, out=sums), dim=1)


def main() -> None:
    """Train, and write what was learnt."""
    options = Options()
    images, labels = flow.randn(16, 1, 16, 16), flow.randint(0, 10, (16,))
    net = Net(options)
    loader = DataLoader(TensorDataset(images, labels), batch_size=8, shuffle=True)
    losses = train(net, loader, options)
    step = TrainStep(net, optim.SGD(net.parameters(), lr=0.1, momentum=0.9))
    loss: flow.Tensor = step(images, labels)
    u, s, vh = flow.linalg.svd(net.head.weight)
    rank = int((s > 1e-6).sum().item()) + u.shape[0] - vh.size(0)
    positive = flow.where(images > 0, images, 0.0)
    losses.append(spread(vh).sum().item())
    for square in DataLoader(Squares(), batch_size=4):
        losses.append(square.sum().item())
    for part in random_split(Squares(), [12, 4]):
        losses.append(part[0].item())
    flow.save(net.state_dict(), "net.pt")
    results = (loss.item(), rank, accuracy(net, positive, labels), *losses)
    sys.stdout.write(f"{list(net.state_dict())}: {results}\n")


if __name__ == "__main__":
    main()
