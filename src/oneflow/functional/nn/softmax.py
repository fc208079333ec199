"""Functions that weigh elements against each other: softmax, its relatives, gated units."""

from __future__ import annotations

from oneflow.base.dtype import DType
from oneflow.base.shape import wrap_dim
from oneflow.functional.elementwise.activation import require_floating
from oneflow.functional.registry import function
from oneflow.primitives.operators import elementwise as p, softmax as s
from oneflow.primitives.operators.random import random_exponential
from oneflow.primitives.operators.reduce import argmax
from oneflow.primitives.operators.shape import split
from oneflow.primitives.registry import Primitive
from oneflow.random.generator import Generator, draw
from oneflow.tensor.call import call, wrap
from oneflow.tensor.operands import as_float, cast_to
from oneflow.tensor.tensor import Tensor


def default_dim(ndim: int) -> int:
    """The dimension meant when none is given: PyTorch's and OneFlow's old rule."""
    return int(ndim not in (0, 1, 3))


def _along(
    primitive: Primitive, input: Tensor, dim: int | None, dtype: DType | None, name: str
) -> Tensor:
    x = input if dtype is None else cast_to(input, dtype)
    require_floating(x, name)
    ndim = x._value.spec.ndim
    dim = default_dim(ndim) if dim is None else wrap_dim(dim, ndim)
    if not ndim:
        return call(primitive, x.reshape((1,)), dim=0).reshape(())
    return call(primitive, x, dim=dim)


@function(also=("nn.functional.softmax", "special.softmax", "_C.softmax"))
def softmax(x: Tensor, dim: int | None = None, dtype: DType | None = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along a dimension.

    Args:
        x: floating point tensor.
        dim: the dimension; default: 1, or 0 for a tensor of 0, 1 or 3 dimensions.
        dtype: convert to it first.

    Example:
        >>> import oneflow as flow
        >>> flow.softmax(flow.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000], dtype=oneflow.float32)
    """
    return _along(s.softmax, x, dim, dtype, "softmax")


@function(also=("nn.functional.log_softmax", "special.log_softmax", "_C.log_softmax"))
def log_softmax(x: Tensor, dim: int | None = None, dtype: DType | None = None) -> Tensor:
    """The logarithm of softmax, computed without overflow.

    Args:
        x: floating point tensor.
        dim: the dimension; default: 1, or 0 for a tensor of 0, 1 or 3 dimensions.
        dtype: convert to it first.

    Example:
        >>> import oneflow as flow
        >>> flow.log_softmax(flow.tensor([0.0, 0.0]), dim=0)
        tensor([-0.6931, -0.6931], dtype=oneflow.float32)
    """
    return _along(s.log_softmax, x, dim, dtype, "log_softmax")


@function(method=False, namespace="nn.functional")
def softmin(input: Tensor, dim: int | None = None, dtype: DType | None = None) -> Tensor:
    """``softmax(-input)``; arguments as in `softmax`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.softmin(flow.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000], dtype=oneflow.float32)
    """
    return _along(s.softmax, call(p.neg, input), dim, dtype, "softmin")


@function(method=False, namespace="nn.functional", keyword_aliases={"logits": "x"})
def gumbel_softmax(
    x: Tensor,
    tau: float = 1.0,
    dim: int | None = None,
    hard: bool = False,
    generator: Generator | None = None,
    eps: float = 1e-10,
) -> Tensor:
    """A random, differentiable choice: softmax of logits plus Gumbel noise, divided by `tau`.

    Args:
        x: logits.
        tau: temperature; the lower, the closer to one-hot.
        dim: the dimension chosen along; default: the last.
        hard: give the one-hot choice, with the gradient of the soft one.
        generator: source of random numbers.
        eps: without effect; PyTorch has it.

    Example:
        >>> import oneflow as flow
        >>> y = flow.nn.functional.gumbel_softmax(flow.ones(2, 4), hard=True)
        >>> y.sum(1).tolist()
        [1.0, 1.0]
    """
    require_floating(x, "gumbel_softmax")
    if isinstance(dim, bool):  # PyTorch's order has `hard` here.
        dim, hard = -1, dim
    spec = x._value.spec
    dim = wrap_dim(-1 if dim is None else dim, spec.ndim)
    options = {"shape": spec.shape, "dtype": spec.dtype, "device": spec.device}
    noise = p.neg(p.log(random_exponential(*draw(generator), 1.0, **options)))
    sample = call(p.div, call(p.add, x, wrap(noise)), as_float(tau, "tau"))
    soft = softmax(sample, dim)
    if not hard:
        return soft
    index = call(argmax, soft, dim=dim, keepdim=True)
    choice = cast_to(call(p.eq, call(s.positions, soft, dim=dim), index), spec.dtype)
    return call(p.add, call(p.sub, choice, soft.detach()), soft)


@function(method=False, namespace="nn.functional")
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Gated linear unit: the first half of `input` times the sigmoid of the second.

    Args:
        input: floating point tensor of even size along `dim`.
        dim: the dimension that is halved.

    Raises:
        RuntimeError: the size is odd, or there is no dimension.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.glu(flow.tensor([1.0, 2.0, 0.0, 0.0]))
        tensor([0.5000, 1.0000], dtype=oneflow.float32)
    """
    require_floating(input, "glu")
    spec = input._value.spec
    if not spec.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = wrap_dim(dim, spec.ndim)
    if spec.shape[dim] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim} is size {spec.shape[dim]}"
        )
    half = spec.shape[dim] // 2
    values, gate = call(split, input, sizes=(half, half), dim=dim)
    return call(p.mul, values, call(p.sigmoid, gate))
