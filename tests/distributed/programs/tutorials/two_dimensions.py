"""SBP of two dimensions (four processes)."""

import numpy as np

import oneflow as flow

placement = flow.placement("cpu", ranks=[[0, 1], [2, 3]])
assert placement.ranks.tolist() == [[0, 1], [2, 3]]
a = flow.Tensor([[1, 2], [3, 4]])
sbp = (flow.sbp.broadcast, flow.sbp.split(0))
a_to_global = a.to_global(placement=placement, sbp=sbp)
assert a_to_global.shape == (4, 2)
assert a_to_global.sbp == sbp
np.testing.assert_array_equal(a_to_global.to_local().numpy(), a.numpy())

a = flow.Tensor([[1, 2], [3, 4]]).to_global(
    placement=placement, sbp=[flow.sbp.broadcast, flow.sbp.broadcast]
)
parts = a.to_global(sbp=[flow.sbp.split(0), flow.sbp.split(1)])
assert parts.to_local().tolist() == [[flow.env.get_rank() + 1.0]]

# Rows of the input along the first dimension, columns of the weight along the second.
PLACEMENT = flow.placement("cpu", [[0, 1], [2, 3]])
BROADCAST = (flow.sbp.broadcast, flow.sbp.broadcast)
BS0 = (flow.sbp.broadcast, flow.sbp.split(0))
S0B = (flow.sbp.split(0), flow.sbp.broadcast)

linear = flow.nn.Linear(6, 8)
linear.to_global(placement=PLACEMENT, sbp=BROADCAST)
linear.weight = flow.nn.Parameter(linear.weight.to_global(placement=PLACEMENT, sbp=BS0))
linear.bias = flow.nn.Parameter(linear.bias.to_global(placement=PLACEMENT, sbp=BS0))
x = flow.randn(4, 6, placement=PLACEMENT, sbp=S0B)
y = linear(x)
assert y.sbp == (flow.sbp.split(0), flow.sbp.split(1))
expected = x.numpy() @ linear.weight.numpy().T + linear.bias.numpy()
np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4, atol=1e-5)

optimizer = flow.optim.SGD(linear.parameters(), lr=0.1)
before = linear.bias.numpy()
optimizer.zero_grad()
y.sum().backward()
optimizer.step()
assert linear.weight.sbp == BS0
np.testing.assert_allclose(linear.bias.numpy(), before - 0.4, rtol=1e-4)
