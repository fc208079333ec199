"""PyTorch's old arguments of losses, `size_average` and `reduce`, in place of `reduction`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from oneflow.base.keyword_aliases import rename_reduction
from oneflow.base.keywords import set_extra_keywords
from oneflow.base.parameters import parameters_of

# Arguments that follow `size_average` in PyTorch's old order; elsewhere `reduce` follows it.
_AFTER_SIZE_AVERAGE = ("ignore_index", "eps")


def accept_old_reduction(init: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a loss's `__init__`: takes the old arguments too, by name and in the old order.

    In the old order a truth value or None stands where OneFlow has a number or `reduction`.
    """
    names = parameters_of(init).names[1:]
    if "reduction" not in names or "size_average" in names:
        return init
    old_names = list(names)
    old_names.insert(old_names.index("reduction"), "reduce")
    before = next((name for name in _AFTER_SIZE_AVERAGE if name in names), "reduce")
    first = old_names.index(before)
    old_names.insert(first, "size_average")

    @functools.wraps(init)
    def accept(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) > first and (args[first] is None or isinstance(args[first], bool)):
            kwargs.update(zip(old_names, args, strict=False))
            args = ()
        rename_reduction(kwargs)
        init(self, *args, **kwargs)

    set_extra_keywords(accept, ("reduce", "size_average"))
    return accept
