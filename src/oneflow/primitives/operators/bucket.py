"""Many tensors as one vector, which processes can exchange at once, and back."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from oneflow.primitives.registry import primitive


def _unpack(bucket: Any, *, shapes: tuple[tuple[int, ...], ...]) -> tuple[Any, ...]:
    parts, start = [], 0
    for shape in shapes:
        end = start + math.prod(shape)
        parts.append(bucket[start:end].reshape(shape))
        start = end
    return tuple(parts)


pack_bucket = primitive(
    "pack_bucket",
    lambda *tensors: jnp.concatenate([tensor.reshape(-1) for tensor in tensors]),
    differentiable=False,
)
unpack_bucket = primitive("unpack_bucket", _unpack, differentiable=False)
