"""Operators by name: `oneflow.user_op_builder`, and operators that users register."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from oneflow import nn as _nn  # noqa: F401 - registers its functions
from oneflow.functional.registry import FUNCTIONS
from oneflow.tensor.tensor import Tensor

Function = Callable[..., Any]
_registered: dict[str, Function] = {}


def register_user_op(op_type_name: str) -> Callable[[Function], Function]:
    """Register a function as the operator `op_type_name` of `oneflow.user_op_builder`.

    The function gets the blobs of all inputs in their order and the attributes by name, computes
    with operators of OneFlow, whose gradients are its own, and returns a blob or several.

    Args:
        op_type_name: the name.

    Returns:
        A decorator.

    Raises:
        ValueError: the name is taken.

    Example:
        >>> import oneflow as flow
        >>> @flow.experimental.register_user_op("scaled_sigmoid_example")
        ... def scaled_sigmoid(x, scale):
        ...     return scale * flow.sigmoid(x)
        >>> op = flow.user_op_builder("s").Op("scaled_sigmoid_example").Input("in", [flow.zeros(2)])
        >>> op.Output("out").Attr("scale", 4.0).Build().InferAndTryRun().RemoteBlobList()
        [tensor([2., 2.], dtype=oneflow.float32)]
    """

    def register(function: Function) -> Function:
        if op_type_name in _registered:
            raise ValueError(f"operator `{op_type_name}` is registered already")
        _registered[op_type_name] = function
        return function

    return register


def user_op_builder(op_name: str) -> UserOpBuilder:
    """Begin an operator; see `UserOpBuilder`.

    Args:
        op_name: a name for the operator; it changes nothing.

    Example:
        >>> import oneflow as flow
        >>> op = flow.user_op_builder("r").Op("relu").Input("x", [flow.tensor([-1.0, 1.0])])
        >>> op.Output("y").Build().InferAndTryRun().RemoteBlobList()
        [tensor([0., 1.], dtype=oneflow.float32)]
    """
    return UserOpBuilder(op_name)


def _takes_list(function: Function) -> bool:
    """Return whether a function of OneFlow takes all its tensors as one list, as `concat` does."""
    if function in _registered.values():
        return False
    (first, *_) = inspect.signature(function).parameters.values()
    return str(first.annotation).startswith("Sequence[Tensor]")


class UserOpBuilder:
    """An operator that gets its inputs and attributes one after the other.

    Example:
        >>> import oneflow as flow
        >>> op = flow.user_op_builder("l").Op("leaky_relu").Input("x", [flow.tensor([-2.0, 1.0])])
        >>> op.Output("y").Attr("alpha", 0.5).Build().InferAndTryRun().SoleOutputBlob()
        tensor([-1.,  1.], dtype=oneflow.float32)
    """

    def __init__(self, op_name: str) -> None:
        self._name = op_name
        self._function: Function | None = None
        self._inputs: list[Tensor] = []
        self._outputs: list[int] = []
        self._attributes: dict[str, Any] = {}
        self._results: list[Tensor] | None = None

    def Op(self, op_type_name: str) -> UserOpBuilder:
        """Choose the operator: a registered one, or a function of OneFlow such as "relu".

        Raises:
            ValueError: there is none of this name.
        """
        function = (
            _registered.get(op_type_name)
            or FUNCTIONS.get(f"math.{op_type_name}")
            or FUNCTIONS.get(f"nn.{op_type_name}")
            or FUNCTIONS.get(f"_C.{op_type_name}")
            or FUNCTIONS.get(op_type_name)
        )
        if function is None:
            raise ValueError(
                f"there is no operator `{op_type_name}`; register a function as one with "
                "@flow.experimental.register_user_op"
            )
        self._function = function
        return self

    def Input(self, input_name: str, blobs: Sequence[Tensor]) -> UserOpBuilder:
        """Add blobs; operators get them in the order in which they are added."""
        self._inputs += blobs
        return self

    def InputSize(self, input_name: str, input_blob_size: int) -> UserOpBuilder:
        """Accept the number of blobs of an input."""
        return self

    def Output(self, output_name: str, num: int = 1) -> UserOpBuilder:
        """State that there are `num` results under a name."""
        self._outputs.append(num)
        return self

    def Attr(self, name: str, value: Any, attr_type_name: str | None = None) -> UserOpBuilder:
        """Set an attribute; `attr_type_name` is accepted."""
        self._attributes[name] = value
        return self

    def Build(self) -> UserOpBuilder:
        """Check that the operator was chosen.

        Raises:
            RuntimeError: it was not.
        """
        if self._function is None:
            raise RuntimeError(f"operator `{self._name}` has no type; call .Op(...) first")
        return self

    def InferAndTryRun(self) -> UserOpBuilder:
        """Apply the operator.

        Raises:
            ValueError: it gives another number of results than was stated.
        """
        function = self.Build()._function
        assert function is not None
        operands = [self._inputs] if _takes_list(function) else self._inputs
        results = function(*operands, **self._attributes)
        self._results = list(results) if isinstance(results, tuple | list) else [results]
        if self._outputs and sum(self._outputs) != len(self._results):
            raise ValueError(
                f"operator `{self._name}` gives {len(self._results)} results, and "
                f"{sum(self._outputs)} were stated"
            )
        return self

    def RemoteBlobList(self) -> list[Tensor]:
        """Return the results.

        Raises:
            RuntimeError: the operator was not applied.
        """
        if self._results is None:
            raise RuntimeError(f"call .InferAndTryRun() on operator `{self._name}` first")
        return self._results

    def SoleOutputBlob(self) -> Tensor:
        """Return the only result."""
        (only,) = self.RemoteBlobList()
        return only


class BuiltinOp:
    """An operator by its name, to be called with blobs; `oneflow.builtin_op` and `stateful_op`.

    Args:
        op_type_name: a registered operator, or a function of OneFlow.
        op_name: a name for the operator; it changes nothing.

    Raises:
        ValueError: there is no operator of this name.

    Example:
        >>> import oneflow as flow
        >>> op = flow.builtin_op("leaky_relu").Input("x").Output("y")
        >>> op.Attr("alpha", 0.5).Build()(flow.tensor([-2.0, 1.0]))
        [tensor([-1.,  1.], dtype=oneflow.float32)]
    """

    def __init__(self, op_type_name: str, op_name: str | None = None) -> None:
        self._type, self._name = op_type_name, op_name or op_type_name
        self._input_count = 0
        self._outputs: dict[str, int] = {}
        self._attributes: dict[str, Any] = {}
        UserOpBuilder(self._name).Op(op_type_name)

    def Input(self, input_name: str, num: int = 1) -> BuiltinOp:
        """State that there are `num` blobs under a name."""
        self._input_count += num
        return self

    def Output(self, output_name: str, num: int = 1) -> BuiltinOp:
        """State that there are `num` results under a name."""
        self._outputs[output_name] = num
        return self

    def Attr(self, attr_name: str, attr_value: Any, attr_type_name: str | None = None) -> BuiltinOp:
        """Set an attribute; `attr_type_name` is accepted."""
        self._attributes[attr_name] = attr_value
        return self

    def Build(self) -> BuiltinOp:
        """Return the operator."""
        return self

    def __call__(self, *blobs: Tensor, **attributes: Any) -> list[Tensor]:
        """Apply the operator.

        Args:
            *blobs: the blobs of all inputs in their order.
            **attributes: others than those that `Attr` has set.

        Returns:
            The results.

        Raises:
            ValueError: there are more or fewer blobs or results than was stated.
        """
        if len(blobs) != self._input_count:
            raise ValueError(
                f"operator `{self._name}` takes {self._input_count} blobs, got {len(blobs)}"
            )
        builder = UserOpBuilder(self._name).Op(self._type).Input("in", blobs)
        for name, num in self._outputs.items():
            builder.Output(name, num)
        for name, value in (self._attributes | attributes).items():
            builder.Attr(name, value)
        return builder.InferAndTryRun().RemoteBlobList()


def custom_op_module(op_module_name: str, module_path: str = "") -> None:
    """Load an operator written for OneFlow's C++ runtime.

    Raises:
        NotImplementedError: always; says how operators are registered here.

    Example:
        >>> import oneflow as flow
        >>> flow.experimental.custom_op_module("relu")
        Traceback (most recent call last):
            ...
        NotImplementedError: the operator in ./relu is written for OneFlow's C++ runti...
    """
    raise NotImplementedError(
        f"the operator in {module_path or '.'}/{op_module_name} is written for OneFlow's C++ "
        "runtime; write it as a Python function and register that with "
        "@flow.experimental.register_user_op"
    )
