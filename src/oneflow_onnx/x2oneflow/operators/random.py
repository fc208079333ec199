"""Random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx

import oneflow as flow
from oneflow import Tensor
from oneflow_onnx.x2oneflow.registry import Evaluation, operator
from oneflow_onnx.x2oneflow.values import check_size, dtype_of


def _generator(seed: float | None) -> flow.Generator | None:
    """Return a generator of its own for a node that has a seed."""
    if seed is None:
        return None
    generator = flow.Generator()
    generator.manual_seed(int(seed))
    return generator


def _dtype(x: Tensor, dtype: int | None) -> flow.dtype:
    return x.dtype if dtype is None else dtype_of(dtype)


def _filled(
    draw: Callable[..., Tensor], shape: Sequence[int], seed: float | None, dtype: flow.dtype
) -> Tensor:
    check_size(shape)
    wide = dtype if dtype == flow.float64 else flow.float32
    return draw(*shape, generator=_generator(seed), dtype=wide)


@operator("RandomNormal", evaluation=Evaluation.ANY)
def random_normal(
    *,
    shape: Sequence[int],
    dtype: int = onnx.TensorProto.FLOAT,
    mean: float = 0.0,
    scale: float = 1.0,
    seed: float | None = None,
) -> Tensor:
    """Return normally distributed numbers."""
    kind = dtype_of(dtype)
    return (_filled(flow.randn, shape, seed, kind) * scale + mean).to(kind)


@operator("RandomNormalLike", evaluation=Evaluation.TENSORS)
def random_normal_like(
    x: Tensor,
    *,
    dtype: int | None = None,
    mean: float = 0.0,
    scale: float = 1.0,
    seed: float | None = None,
) -> Tensor:
    """Return normally distributed numbers in the shape of the operand."""
    kind = _dtype(x, dtype)
    return (_filled(flow.randn, x.shape, seed, kind) * scale + mean).to(kind)


@operator("RandomUniform", evaluation=Evaluation.ANY)
def random_uniform(
    *,
    shape: Sequence[int],
    dtype: int = onnx.TensorProto.FLOAT,
    high: float = 1.0,
    low: float = 0.0,
    seed: float | None = None,
) -> Tensor:
    """Return uniformly distributed numbers."""
    kind = dtype_of(dtype)
    return (_filled(flow.rand, shape, seed, kind) * (high - low) + low).to(kind)


@operator("RandomUniformLike", evaluation=Evaluation.TENSORS)
def random_uniform_like(
    x: Tensor,
    *,
    dtype: int | None = None,
    high: float = 1.0,
    low: float = 0.0,
    seed: float | None = None,
) -> Tensor:
    """Return uniformly distributed numbers in the shape of the operand."""
    kind = _dtype(x, dtype)
    return (_filled(flow.rand, x.shape, seed, kind) * (high - low) + low).to(kind)


@operator("Bernoulli", since=15, evaluation=Evaluation.TENSORS)
def bernoulli(x: Tensor, *, dtype: int | None = None, seed: float | None = None) -> Tensor:
    """Return 1 with the probability that each element gives, else 0."""
    return flow.bernoulli(x, generator=_generator(seed)).to(_dtype(x, dtype))


@operator("Multinomial", since=7, evaluation=Evaluation.TENSORS)
def multinomial(
    x: Tensor,
    *,
    dtype: int = onnx.TensorProto.INT32,
    sample_size: int = 1,
    seed: float | None = None,
) -> Tensor:
    """Draw class indices from unnormalised logarithms of probabilities."""
    weights = flow.softmax(x, -1)
    samples = flow.multinomial(weights, sample_size, True, generator=_generator(seed))
    return samples.to(dtype_of(dtype))
