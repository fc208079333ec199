"""Names that ``torch.nn.functional`` has beside `oneflow.nn.functional`: those of its source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from oneflow.mock_torch.pytorch.jit.annotations import (
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
)
from oneflow.mock_torch.pytorch.overrides import (
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}
#: Remarks for docstrings, by name.
reproducibility_notes = {
    "forward_reproducibility_note": "XLA orders sums of one program alike each time it runs.",
    "backward_reproducibility_note": "XLA orders sums of one program alike each time it runs.",
    "cudnn_reproducibility_note": "XLA chooses kernels when it compiles a program.",
}
sparse_support_notes = {
    "sparse_beta_warning": "Sparse tensors of some layouts and dtypes are not taken."
}
tf32_notes = {"tf32_note": "On GPUs products may be computed with TensorFloat32."}


def assert_int_or_pair(arg: int | Sequence[int], arg_name: str, message: str) -> None:
    """Raise an AssertionError unless an argument is a number or a pair.

    Args:
        arg: the argument.
        arg_name: its name.
        message: the text of the error, in which ``{}`` stands for the name.
    """
    if not (isinstance(arg, int) or len(arg) == 2):
        raise AssertionError(message.format(arg_name))


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str | None,
    func_name: str | None,
) -> Callable[..., Any]:
    """Return a function that calls one of two, by one of its arguments.

    Args:
        arg_name: the argument's name.
        arg_index: its position.
        default: its default.
        if_true: called where it is true.
        if_false: called else.
        module_name: module of the function that is returned.
        func_name: its name.

    Example:
        >>> from oneflow.mock_torch.pytorch.nn.functional import boolean_dispatch
        >>> choose = boolean_dispatch(
        ...     "largest", 1, False, lambda x, largest: max(x), lambda x: min(x), None, "end"
        ... )
        >>> choose([1, 2]), choose([1, 2], True)
        (1, 2)
    """

    def function(*args: Any, **kwargs: Any) -> Any:
        by_position = args[arg_index] if arg_index < len(args) else default
        return (if_true if kwargs.get(arg_name, by_position) else if_false)(*args, **kwargs)

    function.__doc__ = if_true.__doc__ or if_false.__doc__
    function.__module__ = module_name or function.__module__
    function.__name__ = func_name or function.__name__
    return function


__all__ = [
    "GRID_SAMPLE_INTERPOLATION_MODES",
    "GRID_SAMPLE_PADDING_MODES",
    "TYPE_CHECKING",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "assert_int_or_pair",
    "boolean_dispatch",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "reproducibility_notes",
    "sparse_support_notes",
    "tf32_notes",
]
