"""Notes the calls of PyTorch's functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from tools.slow_spots.calls import Call, TensorArgument
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils import _pytree as pytree


class Recorder(TorchFunctionMode):
    """Notes the calls that compute tensors from tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}

    def __torch_function__(
        self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        """Make the call, and note it."""
        arguments = args, kwargs or {}
        described = pytree.tree_map_only(torch.Tensor, _describe, arguments)
        result = func(*args, **(kwargs or {}))
        if self._computes(arguments, result) and (name := resolve_name(func)):
            try:
                text = _out_of_place(func, name, *described).to_text()
            except TypeError:  # an argument that is not plain data: a device, a generator
                return result
            self.counts[text] = self.counts.get(text, 0) + 1
        return result

    @staticmethod
    def _computes(arguments: Any, result: Any) -> bool:
        """Test if there are tensors on both sides, and the results are no new views."""
        tensors = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        given = [leaf for leaf in pytree.tree_leaves(arguments) if isinstance(leaf, torch.Tensor)]
        written = {id(tensor) for tensor in given}
        is_view = any(tensor._is_view() and id(tensor) not in written for tensor in tensors)
        return bool(tensors and given) and not is_view


def _describe(tensor: torch.Tensor) -> TensorArgument:
    dtype = str(tensor.dtype).removeprefix("torch.")
    return TensorArgument(tuple(tensor.shape), dtype, tensor.requires_grad)


def _out_of_place(func: Callable, name: str, args: tuple, kwargs: dict) -> Call:
    """The call that leaves its operands as they are: it can be made many times."""
    try:
        bound = inspect.signature(func).bind(*args, **kwargs)
    except (TypeError, ValueError):  # written in C++
        pass
    else:
        if "inplace" in bound.arguments:
            bound.arguments["inplace"] = False
        args, kwargs = bound.args, bound.kwargs
    if name.endswith("_") and not name.endswith("__"):
        name = name[:-1]
    return Call(name, args, kwargs)
