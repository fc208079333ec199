"""Complex numbers and their parts."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.elementwise import direction_of, elementwise, step, zeros_like
from oneflow.primitives.layout import Place
from oneflow.primitives.registry import primitive
from oneflow.primitives.shape import views

# A complex number of two real ones, and the parts. They are views in PyTorch, so they say how to
# write through; in memory a complex number is two real ones.


def _parts(place: Place, offset: int, shape: tuple[int, ...], last: tuple[int, ...]) -> Place:
    strides = tuple(2 * stride for stride in place.strides)
    terms = tuple((number, 2 * stride) for number, stride in place.terms)
    return Place(shape, (*strides, *last), (*terms, (offset, 1)) if offset else terms)


def _pairs(place: Place) -> Place:
    strides = tuple(stride // 2 for stride in place.strides[:-1])
    terms = tuple((number, stride // 2) for number, stride in place.terms)
    return Place(place.shape[:-1], strides, terms)


complex_ = elementwise("complex", lax.complex, "re im")
real = elementwise(
    "real",
    jnp.real,
    facts=views(
        lambda base, new: complex_(new, imag(base)),
        lambda place: _parts(place, 0, place.shape, ()),
    ),
)
imag = elementwise(
    "imag",
    jnp.imag,
    facts=views(
        lambda base, new: complex_(real(base), new),
        lambda place: _parts(place, 1, place.shape, ()),
    ),
)
complex_.gradient(re=lambda g: real(g), im=lambda g: imag(g))
real.gradient(x=lambda g: complex_(g, zeros_like(g)))
imag.gradient(x=lambda g: complex_(zeros_like(g), g))

as_pairs = primitive(
    "view_as_real",
    lambda x: jnp.stack([x.real, x.imag], -1),
    facts=views(
        lambda base, new: of_pairs(new), lambda place: _parts(place, 0, (*place.shape, 2), (1,))
    ),
)
of_pairs = primitive(
    "view_as_complex",
    lambda x: lax.complex(x[..., 0], x[..., 1]),
    facts=views(lambda base, new: as_pairs(new), _pairs),
)
as_pairs.gradient(x=lambda g: of_pairs(g))
of_pairs.gradient(x=lambda g: as_pairs(g))

# `sign` of complex numbers, which is not piecewise constant.
direction = elementwise("direction", direction_of)
# Of real numbers 0 or pi.
angle = elementwise("angle", jnp.angle)
angle_of_real = step(
    "angle_of_real",
    lambda x: jnp.where(jnp.isnan(x), x, jnp.where(x < 0, jnp.pi, 0)).astype(x.dtype),
)
polar = elementwise(
    "polar", lambda r, angle: lax.complex(r * jnp.cos(angle), r * jnp.sin(angle)), "r angle"
)
