"""Operators computed a second time without data, to compare what is known of their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oneflow.base.layout import Layout
from oneflow.mock_torch.pytorch.aten import OpOverload
from oneflow.mock_torch.pytorch.utils._python_dispatch import TorchDispatchMode
from oneflow.mock_torch.pytorch.utils._pytree import tree_leaves, tree_map_only
from oneflow.tensor.tensor import Tensor


class MetadataMismatchError(RuntimeError):
    """The error of an operator whose result differs from the one without data."""


class CrossRefFakeMode(TorchDispatchMode):
    """A context in which each operator is also computed of tensors on the device ``meta``.

    Operators whose results depend on the data, or that write to their operands, run once.

    Args:
        ignore_op_fn: returns True for operators that are not compared.
        check_strides: compare strides, too.
        check_aliasing: accepted; every result that shares memory does so by a view.
        only_check_ops_with_meta: False lets errors through of operators that need data.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch._subclasses import CrossRefFakeMode
        >>> with CrossRefFakeMode():
        ...     torch.ones(2, 1).add(torch.ones(3)).tolist()
        [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]
    """

    def __init__(
        self,
        ignore_op_fn: Callable[[OpOverload], bool] | None = None,
        *,
        check_strides: bool = True,
        check_aliasing: bool = True,
        only_check_ops_with_meta: bool = True,
    ) -> None:
        super().__init__()
        self.ignore_op_fn = ignore_op_fn or (lambda func: False)
        self.check_strides = check_strides
        self.check_aliasing = check_aliasing
        self.only_check_ops_with_meta = only_check_ops_with_meta

    def __torch_dispatch__(
        self,
        func: OpOverload,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Compute an operator, and compare its results with those without data.

        Raises:
            MetadataMismatchError: they differ.
        """
        kwargs = kwargs or {}
        expected = None if self.ignore_op_fn(func) else self._without_data(func, args, kwargs)
        result = func(*args, **kwargs)
        if expected is not None:
            self._compare(func, tree_leaves(result), tree_leaves(expected))
        return result

    def _without_data(self, func: OpOverload, args: Any, kwargs: Any) -> Any:
        operands = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        is_strided = all(x.layout is Layout.strided for x in operands)
        if not operands or not is_strided or func.writes or "out" in kwargs:
            return None
        args, kwargs = tree_map_only(Tensor, lambda x: x.detach().to("meta"), (args, kwargs))
        try:
            return func(*args, **kwargs)
        except (NotImplementedError, RuntimeError):
            if self.only_check_ops_with_meta:
                return None
            raise

    def _compare(self, func: OpOverload, results: list[Any], expected: list[Any]) -> None:
        with_data, without = (list(map(self._described, leaves)) for leaves in (results, expected))
        if with_data != without:
            raise MetadataMismatchError(
                f"the output of {func} is {with_data}, and {without} without data"
            )

    def _described(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return type(value)
        strides = value.stride() if self.check_strides else None
        return tuple(value.shape), value.dtype, strides
