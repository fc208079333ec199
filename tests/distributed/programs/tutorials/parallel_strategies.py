"""Data, tensor and mixed parallelism of two products, eager and as a graph (four processes)."""

import numpy as np

import oneflow as flow
import oneflow.nn as nn

P01 = flow.placement(type="cpu", ranks=[0, 1])
P23 = flow.placement(type="cpu", ranks=[2, 3])

# Data parallelism on the first two ranks, tensor parallelism on the others.
A0 = flow.randn(4, 5, placement=P01, sbp=flow.sbp.split(dim=0))
B0 = flow.randn(5, 8, placement=P01, sbp=flow.sbp.broadcast)
Y0 = flow.matmul(A0, B0)
assert Y0.sbp == (flow.sbp.split(dim=0),)
Y0 = Y0.to_global(placement=P23, sbp=flow.sbp.broadcast)
B1 = flow.randn(8, 6, placement=P23, sbp=flow.sbp.split(dim=1))
Y2 = flow.matmul(Y0, B1)
assert Y2.placement == P23
assert Y2.sbp == (flow.sbp.split(dim=1),)


class ModuleModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1 = nn.Linear(in_features=5, out_features=8, bias=False)
        self.linear1.to_global(placement=P01, sbp=flow.sbp.broadcast)
        self.linear2 = nn.Linear(in_features=8, out_features=6, bias=False)
        self.linear2.to_global(placement=P23, sbp=flow.sbp.split(dim=0))

    def forward(self, x):
        y = self.linear1(x)
        y = y.to_global(placement=P23, sbp=flow.sbp.broadcast)
        return self.linear2(y)


model = ModuleModel()
x = flow.randn(4, 5, placement=P01, sbp=flow.sbp.split(dim=0))
out = model(x)
assert out.sbp == (flow.sbp.split(dim=1),)


def gathered(tensor):
    everyone = flow.placement.all("cpu")
    return tensor.detach().to_global(placement=everyone, sbp=flow.sbp.broadcast).to_local().numpy()


first, second = gathered(model.linear1.weight), gathered(model.linear2.weight)
np.testing.assert_allclose(gathered(out), gathered(x) @ first.T @ second.T, rtol=1e-4, atol=1e-5)

out.sum().backward()
assert model.linear1.weight.grad.placement == P01
assert model.linear2.weight.grad.sbp == (flow.sbp.split(dim=0),)
# Each of its two ranks brought a layer of its own: together they have twelve outputs.
expected = np.ones((4, 12)).T @ (gathered(x) @ first.T)
np.testing.assert_allclose(gathered(model.linear2.weight.grad), expected, rtol=1e-4, atol=1e-5)


class GraphModel(nn.Graph):
    def __init__(self):
        super().__init__()
        self.model = model

    def build(self, x):
        return self.model(x)


np.testing.assert_allclose(gathered(GraphModel()(x)), gathered(out), rtol=1e-4, atol=1e-5)
