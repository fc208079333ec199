"""Rearrangements of einops."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import einops
import torch
from einops.layers.torch import EinMix, Rearrange, Reduce
from tools.third_party.measure import array, arrays, integers, numbers, step, text

_FUNCTIONS: dict[str, Callable[[torch.Tensor], Any]] = {
    "rearrange": lambda x: einops.rearrange(x, "b (h p) (w q) c -> b (h w) (p q c)", p=2, q=3),
    "rearrange a list": lambda x: einops.rearrange([x, 2 * x], "n b h w c -> b h (n w) c"),
    "rearrange ellipsis": lambda x: einops.rearrange(x, "b ... c -> (b c) ..."),
    "rearrange ones": lambda x: einops.rearrange(x[:, :1], "b 1 w c -> c 1 b w ()"),
    "repeat": lambda x: einops.repeat(x, "b h w c -> b (h r) (w s) c", r=2, s=3),
    **{
        f"reduce {name}": partial(
            einops.reduce, pattern="b (h p) w c -> b c h", reduction=name, p=2
        )
        for name in ("sum", "mean", "min", "max", "prod")
    },
    "reduce by a function": lambda x: einops.reduce(x, "b h w c -> b c", torch.logsumexp),
    "einsum": lambda x: einops.einsum(x, x.sin(), "b i j c, b k j c -> b i k"),
    "pack": lambda x: einops.pack([x, x[:, 0], x[:, :, :2]], "b * c")[0],
    "unpack": lambda x: einops.unpack(x[:, 0], [(1,), (), (2, 2)], "b * c"),
}
_LAYERS: dict[str, Callable[[], torch.nn.Module]] = {
    "layers": lambda: torch.nn.Sequential(
        Rearrange("b h w c -> b c h w"),
        torch.nn.Conv2d(3, 4, 3),
        Reduce("b c (h p) w -> b (h w) c", "max", p=2),
        torch.nn.Linear(4, 2),
    ),
    "mix": lambda: EinMix(
        "b h w c -> b (h k) w", weight_shape="k h w c", bias_shape="k w", h=4, w=6, c=3, k=2
    ),
}


def _function(name: str) -> dict[str, Any]:
    x = numbers(2, 4, 6, 3).requires_grad_()
    result = _FUNCTIONS[name](x)
    tensors = list(result) if isinstance(result, list | tuple) else [result]
    torch.stack([member.cos().sum() for member in tensors]).sum().backward()
    return {**arrays(tensors), "gradient: x": array(x.grad)}


def _layer(name: str) -> dict[str, Any]:
    x = numbers(2, 4, 6, 3)
    return step(_LAYERS[name](), lambda module: module(x))


def _shapes() -> dict[str, Any]:
    x = numbers(2, 4, 6)
    errors = []
    for pattern in ("a b -> b a", "a (b c) d -> a b c d", "a b c -> a b"):
        try:
            einops.rearrange(x, pattern)
        except einops.EinopsError as error:
            errors.append(str(error).splitlines()[0])
    return {
        "parsed": text(einops.parse_shape(x, "a _ b")),
        "errors": text(errors),
        "numpy": einops.asnumpy(x),
        "integers": einops.asnumpy(
            einops.reduce(integers(4, 6, below=9), "(a b) c -> a c", "max", b=2)
        ),
    }


def _compiled() -> dict[str, Any]:
    x = numbers(2, 4, 6, 3)
    module = torch.nn.Sequential(Rearrange("b h w c -> b (h w) c"), torch.nn.Linear(3, 2))
    return step(module, lambda module: torch.compile(module, backend="eager")(x))


CASES = {
    **{name: partial(_function, name) for name in _FUNCTIONS},
    **{name: partial(_layer, name) for name in _LAYERS},
    "shapes": _shapes,
    "compiled": _compiled,
}
