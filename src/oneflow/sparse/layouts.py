"""Functions that make tensors, for another `layout=` than `strided`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.base.layout import Layout
from oneflow.functional.creation.factory_functions import empty
from oneflow.functional.registry import MADE_IN_LAYOUT
from oneflow.sparse.creation import without_values
from oneflow.tensor.composed import ComposedTensor
from oneflow.tensor.tensor import Tensor

#: Functions whose results are 0, or anything.
_OF_ZEROS = {"zeros", "zeros_like", "new_zeros", "empty", "empty_like", "new_empty"}


@MADE_IN_LAYOUT.fill
def made_in_layout(
    public: Callable[..., Any], layout: Layout, args: tuple, kwargs: dict[str, Any]
) -> Tensor:
    """Make a tensor in a layout of sparse tensors.

    Args:
        public: the function.
        layout: the layout.
        args: its arguments.
        kwargs: its keyword arguments, but for `layout`.

    Raises:
        TypeError: `layout` is none.
        NotImplementedError: the function makes other elements than 0, or the layout is not
            written.
    """
    name = public.__name__
    if not isinstance(layout, Layout):
        raise TypeError(f"{name}(): argument 'layout' must be a layout, not {layout!r}")
    example = next((x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)), None)
    if isinstance(example, ComposedTensor) and example.layout is layout:
        return public(*args, **kwargs)
    if name not in _OF_ZEROS:
        raise NotImplementedError(
            f"`{name}` makes tensors of layout strided, got `layout={layout}`; `to_sparse(layout="
            "...)` converts its result"
        )
    requires_grad = kwargs.pop("requires_grad", False)
    device = kwargs.pop("device", None) or (empty(0) if example is None else example).device
    # Only its shape and dtype are asked for.
    plain = public(*args, **kwargs, device="meta")
    result = without_values(layout, plain.shape, 0, plain.dtype, device)
    return result.requires_grad_() if requires_grad else result
