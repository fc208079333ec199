"""Copies of views: PyTorch's functions ``..._copy``, generated from the functions of views."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from oneflow.functional.registry import COMPOSED_CALLS, put_out, register_public
from oneflow.functional.shape import concat, reshape, strided_views
from oneflow.tensor.methods import attach
from oneflow.tensor.tensor import Tensor


def _copied(name: str, view: Callable, arguments: str) -> Callable:
    """The function `name`, which copies what `view` shows; `arguments` of an example."""

    @functools.wraps(view)
    def copied(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        try:
            view_result = view(*args, **kwargs)
        except tuple(COMPOSED_CALLS) as error:
            # Some tensors without views have copies.
            view_result = COMPOSED_CALLS[type(error)].value(name, args, kwargs)
        if isinstance(view_result, Tensor):
            copies: Any = view_result.clone()
        else:
            copies = tuple([shared.clone() for shared in view_result])
        return copies if out is None else put_out(out, copies, name)

    copied.__name__ = copied.__qualname__ = name
    copied.__module__ = __name__
    copied.__doc__ = f"""Copy what `{name.removesuffix("_copy")}` shows, in memory of its own.

    Arguments and errors are those of the view.

    Example:
        >>> import oneflow as flow
        >>> x = flow.zeros(2, 3)
        >>> result = flow.{name}({arguments})
        >>> for part in result if isinstance(result, tuple) else [result]:
        ...     _ = part.fill_(1)
        >>> x.any().item()
        False
    """
    register_public(name, copied)
    return copied


as_strided_copy = _copied("as_strided_copy", strided_views.as_strided, "x, (2, 2), (1, 1)")
diagonal_copy = _copied("diagonal_copy", strided_views.diagonal, "x")
expand_copy = _copied("expand_copy", Tensor.expand, "x, (4, 2, 3)")
narrow_copy = _copied("narrow_copy", strided_views.narrow, "x, 1, 0, 2")
permute_copy = _copied("permute_copy", reshape.permute, "x, (1, 0)")
select_copy = _copied("select_copy", strided_views.select, "x, 0, 1")
split_copy = _copied("split_copy", concat.split, "x, 1")
split_with_sizes_copy = _copied("split_with_sizes_copy", concat.split, "x, (1, 2), 1")
squeeze_copy = _copied("squeeze_copy", reshape.squeeze, "x")
t_copy = _copied("t_copy", reshape.t, "x")
transpose_copy = _copied("transpose_copy", reshape.transpose, "x, 0, 1")
unbind_copy = _copied("unbind_copy", concat.unbind, "x")
unfold_copy = _copied("unfold_copy", strided_views.unfold, "x, 1, 2, 1")
unsqueeze_copy = _copied("unsqueeze_copy", reshape.unsqueeze, "x, 0")
view_copy = _copied("view_copy", Tensor.view, "x, (3, 2)")

attach("narrow_copy", narrow_copy)
