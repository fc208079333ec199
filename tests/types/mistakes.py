"""Mistakes that a type checker finds: each line marked `mistake` has one.

For mypy a class with `__getattr__`, as every module is, has all that an iterable needs.
"""

from __future__ import annotations

import oneflow as flow
import oneflow.nn.functional as F
from oneflow import nn, optim
from oneflow.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    """A network of one layer."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, "2")  # mistake

    def forward(self, x: flow.Tensor) -> flow.Tensor:
        return self.linear(x, x)  # mistake


x = flow.randn(8, 4)
net = Net()
optimizer = optim.AdamW(net.parameters(), lr="1e-3")  # mistake
a: int = net(x)  # mistake
b: flow.Tensor = flow.relu([1.0])  # mistake
c = x.sum(dim="rows")  # mistake
d: flow.Tensor = flow.max(x, 1)  # mistake
e = flow.sort(x).value  # mistake
f = flow.cat(x, x)  # mistake
g = F.cross_entropy(x)  # mistake
h = x.to_globl(placement=flow.placement("cpu", [0]))  # mistake
i = flow.zeroes(3)  # mistake
j = flow.placement("cpu")  # mistake
xs = x.to_global(placement=flow.placement("cpu", [0]), sbp="split")  # mistake
z = flow.zeros(2, placement="cpu", sbp=flow.sbp.broadcast)  # mistake
k: str = x.shape  # mistake
m = net("image")  # mistake
n = F.softmax(x, dimension=1)  # mistake
p = nn.Dropout(p="half")  # mistake
conv = nn.Conv2d(3, 8, kernel_size="3")  # mistake
pooled = F.max_pool2d(x, 2, stride=0.5)  # mistake
loader = DataLoader(TensorDataset(x, x), batch_size="8")  # mistake
for images, _ in DataLoader(TensorDataset(x, x)):
    q: list[int] = images  # mistake
r = flow.linalg.svd(x).V  # mistake
s = optim.lr_scheduler.CosineAnnealingLR(net, 10)  # mistake
t = flow.where(x > 0, x)  # mistake
w = flow.add(x, x, out="sum")  # mistake
y = flow.sum(x, axis="rows")  # mistake
sgd = optim.SGD(net, lr=0.1)  # pyright: mistake
moved = x.to(device=3.5)  # mistake
moved_net = net.to(device=3.5)  # mistake
ranks = flow.placement("cpu", ["a"])  # mistake
groups = optim.Adam([{"params": net.parameters(), "lr": 0.1}])
named = optim.SGD(net.named_parameters(), lr=0.1)
plain = optim.SGD([*net.parameters()], lr=0.1)
same = [x.to("cpu"), x.to(flow.float32), x.to("cpu", flow.float32), x.to(x), x.to(device=x.device)]
grid = [flow.placement("cpu", [0, 1]), flow.placement("cpu", [[0], [1]]), flow.placement("cpu", 0)]


@flow.no_grad()
def evaluate(images: flow.Tensor) -> float:
    """Return the mean output."""
    return net(images).mean().item()


u: str = evaluate(x)  # mistake
v = evaluate(x, x)  # mistake
