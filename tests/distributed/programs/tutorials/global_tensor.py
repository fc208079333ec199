"""Global tensors: made at once, from local tensors, and brought elsewhere (two processes)."""

import numpy as np

import oneflow as flow

rank = flow.env.get_rank()

# Made at once.
placement = flow.placement(type="cpu", ranks=[0, 1])
sbp = flow.sbp.split(dim=0)
x = flow.randn(4, 5, placement=placement, sbp=sbp)
print("Local data:\n", x.to_local())
print("Global data:\n", x)
assert x.shape == flow.Size([4, 5])
assert x.to_local().shape == flow.Size([2, 5])
assert x.placement == placement
assert x.sbp == (flow.sbp.split(dim=0),)
assert x.is_global
assert not x.is_local

# From local tensors, and back.
x = flow.randn(2, 5).to("cpu")
assert x.is_local
assert not x.is_global
x_global = x.to_global(placement=placement, sbp=sbp)
assert x_global.shape == (4, 5)
assert x_global.is_global
x_local = x_global.to_local()
assert x_local.is_local
assert x_local.device == flow.device("cpu")
np.testing.assert_array_equal(x_local.numpy(), x.numpy())

# Numpy arrays are the whole tensor.
assert x_global.numpy().shape == (4, 5)
np.testing.assert_array_equal(x_global.numpy()[2 * rank : 2 * rank + 2], x.numpy())

# Another SBP.
x_global_b = x_global.to_global(placement=placement, sbp=flow.sbp.broadcast)
assert x_global_b.shape == (4, 5)
assert x_global_b.to_local().shape == (4, 5)
np.testing.assert_array_equal(x_global_b.to_local().numpy(), x_global.numpy())

# Another placement: what a rank outside holds of it is empty.
alone = flow.placement(type="cpu", ranks=[1])
x_alone = x_global.to_global(placement=alone, sbp=flow.sbp.broadcast)
assert x_alone.to_local().numel() == (20 if rank == 1 else 0)

# To a device type, which all ranks have.
assert x_global.to("cpu").placement == placement
assert x_global.cpu().is_global

# Partial sums.
ones = flow.ones(2, 2).to_global(placement=placement, sbp=flow.sbp.partial_sum)
assert ones.sbp == (flow.sbp.partial_sum(),)
np.testing.assert_array_equal(ones.numpy(), np.full((2, 2), 2.0))

# The results of operators.
x = flow.randn(4, 5, placement=placement, sbp=flow.sbp.split(0))
w = flow.randn(5, 8, placement=placement, sbp=flow.sbp.broadcast)
y = flow.matmul(x, w)
assert y.is_global
assert y.shape == flow.Size([4, 8])
assert y.sbp == (flow.sbp.split(0),)
w = flow.randn(5, 8, placement=placement, sbp=flow.sbp.split(1))
x = x.to_global(sbp=flow.sbp.broadcast)
assert flow.matmul(x, w).sbp == (flow.sbp.split(1),)
a = flow.randn(4, 6, placement=placement, sbp=flow.sbp.split(1))
b = flow.randn(6, 3, placement=placement, sbp=flow.sbp.split(0))
assert flow.matmul(a, b).sbp == (flow.sbp.partial_sum,)
