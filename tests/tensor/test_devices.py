"""Tensors on two devices, which two virtual CPU devices stand in for."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import copy, pickle
import oneflow as flow

x = flow.ones(2, 3, device="cpu:1", requires_grad=True)
y = (x * 2).to("cpu:0")
assert str(y.device) == "cpu:0"
(y * flow.arange(3.0)).sum().backward()
assert x.grad.tolist() == [[0, 2, 4], [0, 2, 4]]
assert x.grad.device == x.device == flow.device("cpu", 1)

cube = (x.to("cpu:0") ** 3).sum()
(first,) = flow.autograd.grad(cube, x, create_graph=True)
(second,) = flow.autograd.grad(first.sum(), x)
assert second.tolist() == [[6] * 3] * 2

z = flow.zeros(2, 3, device="cpu:1")
assert z[flow.tensor([1])].device is z.device
z[0] = flow.ones(3)
z[flow.tensor([False, True])] = 7.0
assert z.tolist() == [[1] * 3, [7] * 3]
z.copy_(flow.ones(2, 3))
assert z.device is x.device
assert (z + flow.tensor(1.0)).tolist() == [[2] * 3] * 2
for made in (z.new_zeros(1), flow.ones_like(z), copy.deepcopy(z), pickle.loads(pickle.dumps(z))):
    assert made.device is z.device
try:
    z + flow.ones(2, 3)
except RuntimeError as error:
    assert "same device" in str(error)
else:
    raise AssertionError("operands on two devices were accepted")
"""


@pytest.mark.multiprocess
def test_tensors_on_two_devices() -> None:
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
