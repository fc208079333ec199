"""Walks over the modules of a model, and numbers as tuples."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flowvision.layers.blocks.patch_embed import to_2tuple as to_2tuple
from flowvision.layers.helpers import make_divisible as make_divisible
from oneflow import nn


def _repeated(x: Any, count: int) -> tuple[Any, ...]:
    """Return a sequence as a tuple, anything else `count` times."""
    if isinstance(x, Sequence) and not isinstance(x, str):
        return tuple(x)
    return (x,) * count


to_1tuple = functools.partial(_repeated, count=1)
to_3tuple = functools.partial(_repeated, count=3)
to_4tuple = functools.partial(_repeated, count=4)


def named_modules(
    module: nn.Module, name: str = "", depth_first: bool = True, include_root: bool = False
) -> Iterator[tuple[str, nn.Module]]:
    """Yield the modules inside `module` with their paths.

    Args:
        module: the root.
        name: the path of the root.
        depth_first: whether a module comes after those inside it.
        include_root: whether the root comes, too.

    Example:
        >>> from flowvision.models.helpers import named_modules
        >>> from oneflow import nn
        >>> model = nn.Sequential(nn.Sequential(nn.ReLU()))
        >>> [name for name, _ in named_modules(model)]
        ['0.0', '0']
    """
    if include_root and not depth_first:
        yield name, module
    for child_name, child in module.named_children():
        path = f"{name}.{child_name}" if name else child_name
        yield from named_modules(child, path, depth_first, include_root=True)
    if include_root and depth_first:
        yield name, module


def named_apply(
    fn: Callable[..., object],
    module: nn.Module,
    name: str = "",
    depth_first: bool = True,
    include_root: bool = False,
) -> nn.Module:
    """Call `fn(module=..., name=...)` for the modules inside `module`; return `module`.

    The arguments are those of `named_modules`.

    Example:
        >>> from flowvision.models.helpers import named_apply
        >>> from oneflow import nn
        >>> model = nn.Sequential(nn.ReLU())
        >>> _ = named_apply(lambda module, name: print(name), model)
        0
    """
    for path, submodule in named_modules(module, name, depth_first, include_root):
        fn(module=submodule, name=path)
    return module
