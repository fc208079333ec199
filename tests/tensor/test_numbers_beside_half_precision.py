"""Python numbers beside tensors of half precision have PyTorch's precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.oracle import dtype_name, eager_mode

# As PyTorch does: those in sums, powers and remainders are rounded to the tensor's type, others are
# rounded with the result. 0.999 is 1 in bfloat16, so a running average with it would stand still.
CALLS = {
    "mul": lambda lib, x, y: x * 0.999,
    "mul from the left": lambda lib, x, y: 0.999 * x,
    "mul_": lambda lib, x, y: x.clone().mul_(0.999),
    "div": lambda lib, x, y: x / 0.3,
    "floor_divide": lambda lib, x, y: x // 0.3,
    "floor_divide from the left": lambda lib, x, y: 7 // (x.abs() + 1),
    "add": lambda lib, x, y: x + 0.3,
    "add with alpha": lambda lib, x, y: x.add(y, alpha=0.1),
    "sub": lambda lib, x, y: x - 0.3,
    "rsub": lambda lib, x, y: 0.3 - x,
    "pow": lambda lib, x, y: x.abs() ** 0.3,
    "remainder": lambda lib, x, y: x % 0.3,
    "remainder from the left": lambda lib, x, y: 7 % x,
    "fmod": lambda lib, x, y: lib.fmod(x, 0.3),
    "lerp": lambda lib, x, y: x.lerp(y, 0.1),
    "addcmul": lambda lib, x, y: x.addcmul(y, y, value=0.3),
    "addcdiv": lambda lib, x, y: x.addcdiv(y, y.abs() + 1, value=0.3),
    "leaky_relu": lambda lib, x, y: lib.nn.functional.leaky_relu(x, 0.1),
    "elu": lambda lib, x, y: lib.nn.functional.elu(x, 0.7),
    "celu": lambda lib, x, y: lib.nn.functional.celu(x, 0.7),
    "selu": lambda lib, x, y: lib.nn.functional.selu(x),
    "softplus": lambda lib, x, y: lib.nn.functional.softplus(x, 0.7),
    "softshrink": lambda lib, x, y: lib.nn.functional.softshrink(x, 0.3),
    "clamp": lambda lib, x, y: x.clamp(-0.3, 0.3),
    "greater": lambda lib, x, y: (x > 0.1).float(),
    "where": lambda lib, x, y: lib.where(x > 0, x, 0.3),
    "_foreach_mul": lambda lib, x, y: lib._foreach_mul([x], 0.999)[0],
}


in_each_mode = pytest.mark.parametrize("mode", ["cold", "compiled"])
of_each_dtype = pytest.mark.parametrize("dtype", ["bfloat16", "float16"])


def require_pytorchs_results(outcomes, mode):
    """Compare all results of a library's calls, which are one program."""
    wanted = outcomes(torch)
    with eager_mode(mode):
        found = outcomes(flow)
        flow.eager.synchronize()
    assert {name: dtype_name(result) for name, result in found.items()} == {
        name: dtype_name(result) for name, result in wanted.items()
    }
    for name, tensor in found.items():
        np.testing.assert_array_equal(tensor.float().numpy(), wanted[name].float().numpy(), name)


@in_each_mode
@of_each_dtype
def test_numbers_beside_half_precision(dtype, mode):
    random = np.random.default_rng(0)
    # Whole vectors: PyTorch rounds what is left of one twice.
    arrays = [random.standard_normal(1024, dtype=np.float32) for _ in range(2)]

    def outcomes(lib):
        x, y = (lib.tensor(array).to(getattr(lib, dtype)) for array in arrays)
        return {name: call(lib, x, y) for name, call in CALLS.items()}

    require_pytorchs_results(outcomes, mode)


# As PyTorch does on the CPU: of 0-dim tensors, those that come second in products and quotients are
# not rounded first.
WITH_0_DIM = {
    "mul": lambda lib, x, t: x * t,
    "mul from the left": lambda lib, x, t: t * x,
    "mul_": lambda lib, x, t: x.clone().mul_(t),
    "div": lambda lib, x, t: x / t,
    "div from the left": lambda lib, x, t: t / x,
    "div_": lambda lib, x, t: x.clone().div_(t),
    "div and floor": lambda lib, x, t: lib.div(x, t, rounding_mode="floor"),
    "div and trunc": lambda lib, x, t: lib.div(x, t, rounding_mode="trunc"),
    "floor_divide": lambda lib, x, t: x // t,
    "add": lambda lib, x, t: x + t,
    "sub": lambda lib, x, t: x - t,
    "remainder": lambda lib, x, t: x % t,
    "fmod": lambda lib, x, t: lib.fmod(x, t),
    "pow": lambda lib, x, t: x.abs() ** t,
    "_foreach_mul": lambda lib, x, t: lib._foreach_mul([x], t)[0],
}


@in_each_mode
@pytest.mark.parametrize("factor", [("float32", 0.2999), ("float64", 0.2999), ("int64", 3)])
@of_each_dtype
def test_0_dim_tensors_beside_half_precision(dtype, factor, mode):
    array = np.random.default_rng(0).standard_normal(1024, dtype=np.float32)
    kind, number = factor

    def outcomes(lib):
        x = lib.tensor(array).to(getattr(lib, dtype))
        factor = lib.tensor(number, dtype=getattr(lib, kind))
        return {name: call(lib, x, factor) for name, call in WITH_0_DIM.items()}

    require_pytorchs_results(outcomes, mode)


@pytest.mark.parametrize("lib", [flow, torch])
def test_gradients_of_products_with_0_dim_tensors(lib):
    x = lib.ones(3, dtype=lib.bfloat16, requires_grad=True)
    factor = lib.tensor(0.999, requires_grad=True)
    (x * factor / factor * factor).sum().backward()
    assert (x.grad.dtype, factor.grad.dtype) == (lib.bfloat16, lib.float32)
    assert (x.grad.tolist(), factor.grad.item()) == ([1.0] * 3, 3)


def test_gradients_of_products_with_numbers():
    gradients = []
    for lib in (flow, torch):
        x = lib.ones(3, dtype=lib.bfloat16, requires_grad=True)
        # The product would be 1.4921875 if the number was rounded before.
        (x * 0.998).backward(lib.full((3,), 1.5, dtype=lib.bfloat16))
        assert x.grad.dtype is lib.bfloat16
        gradients.append(x.grad.float().tolist())
    assert gradients == [[1.5] * 3] * 2
