"""``torch.ops.aten``: the operators beneath PyTorch's functions, by the functions here.

PyTorch dispatches functions to operators, each of which has overloads: `add.Tensor`, `add.Scalar`.
Here functions take all forms of their arguments, and so all overloads lead to one function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import oneflow as flow
from oneflow.mock_torch.pytorch import top_level
from oneflow.mock_torch.pytorch.aten_backward import BACKWARD_FUNCTIONS, backward_of
from oneflow.mock_torch.pytorch.aten_functions import ATEN_FUNCTIONS, DIFFERENT
from oneflow.mock_torch.pytorch.aten_schemas import Schema, schema_of
from oneflow.tensor.python_dispatch import CALL_OVERLOAD, CALL_PACKET, is_asked
from oneflow.tensor.tensor import Tensor

# The modules of the operators whose names begin so.
_MODULES: dict[str, ModuleType] = {
    "fft_": flow.fft,
    "linalg_": flow.linalg,
    "special_": flow.special,
}
# The names of overloads, which tell arguments, their types, or results. "_out" may follow.
_OVERLOAD_NAMES = """
    default out Tensor Scalar self other int float complex bool str dim dims dtype device start
    step low size input output vec values stable correction value src reduce two sizes array
    sections indices generator self_int self_Tensor Tensor_Scalar Scalar_Tensor Tensor_Tensor
    Tensor_mode Scalar_mode ScalarOther ScalarSelf ScalarOpt_dim ScalarOpt_dim_dtype
    ScalarOpt_dtype dim_IntList dim_int List ScalarList TensorList dtype_layout prim_Device
    prim_dtype scalar tensor dim_max dim_min values_stable Scalar_Self Scalar_Other start_step
    from to msg p any periodic memory_format value_reduce decimals padding m beta IntList
    int_Scalar int_Tensor
"""
_OVERLOADS = frozenset(_OVERLOAD_NAMES.split())


class OpOverload:
    """One overload of an operator.

    Args:
        overloadpacket: the operator.
        overload: the overload's name.

    Example:
        >>> import oneflow as flow
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     print(torch.ops.aten.add.Tensor, torch.ops.aten.add.Tensor(flow.ones(1), 2).item())
        aten.add.Tensor 3.0
    """

    namespace = "aten"

    def __init__(self, overloadpacket: OpOverloadPacket, overload: str) -> None:
        self.overloadpacket = overloadpacket
        self._overloadname = overload
        self.__name__ = f"{overloadpacket.__name__}.{overload}"
        self.kernel = overloadpacket.kernel

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the operator; modes and classes of arguments that compute it are asked.

        Raises:
            RuntimeError: `out` is given to an overload that returns a new tensor.
        """
        if "out" in kwargs:
            self._require_out()
        if is_asked(args, kwargs):
            return CALL_OVERLOAD.value(self, args, kwargs)
        return self.kernel(*args, **kwargs)

    def _require_out(self) -> None:
        if schema_of(self.overloadpacket.__name__, self._overloadname) is not None:
            raise RuntimeError(
                f"Unknown keyword argument 'out' for operator '{self.name()}', which returns a new"
                " tensor; the overload `out` writes to one"
            )

    @property
    def base_name(self) -> str:
        """The operator's name, without the sign that it writes to its first argument."""
        return self.overloadpacket.__name__.removesuffix("_")

    @property
    def writes(self) -> bool:
        """True if the operator writes to its first argument."""
        return self.overloadpacket.__name__.endswith("_")

    @property
    def _schema(self) -> Schema:
        schema = schema_of(self.overloadpacket.__name__, self._overloadname)
        if schema is None:
            raise AttributeError(
                f"`{self.name()}` has no schema here; its parameters are those of"
                " the function of its name"
            )
        return schema

    def name(self) -> str:
        """Return the overload's name with its namespace, such as ``"aten::add.Tensor"``."""
        suffix = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"aten::{self.overloadpacket.__name__}{suffix}"

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.overloadpacket, self._overloadname)

    def __repr__(self) -> str:
        packet = self.overloadpacket.__name__
        return f"<OpOverload(op='aten.{packet}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"aten.{self.__name__}"


class OpOverloadPacket:
    """An operator of ATen: called, it is the function of that name.

    Args:
        name: its name.
        function: what computes it.

    Example:
        >>> import oneflow as flow
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     torch.ops.aten.embedding(flow.eye(2), flow.tensor([1])).tolist()
        [[0.0, 1.0]]
    """

    namespace = "aten"

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.__name__ = name
        self._function = function
        self._overloads: dict[str, OpOverload] = {}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function; the first argument may be called `self`."""
        if is_asked(args, kwargs):
            return CALL_PACKET.value(self, args, kwargs)
        return self.kernel(*args, **kwargs)

    def kernel(self, /, *args: Any, **kwargs: Any) -> Any:
        """Compute the operator; nobody is asked."""
        if "self" in kwargs and not args:
            args = (kwargs.pop("self"),)
        return self._function(*args, **kwargs)

    @property
    def op(self) -> Callable[..., Any]:
        """The function that computes the operator, and asks no modes or classes of arguments."""
        return self.kernel

    def overload(self, name: str) -> OpOverload:
        """Return the overload of a name."""
        return getattr(self, name)

    def other(self, name: str) -> OpOverloadPacket:
        """Return another operator of ATen."""
        return aten_operator(name)

    def overloads(self) -> list[str]:
        """Return the names of the overloads that were asked for."""
        return list(self._overloads)

    def backward_operator(self) -> OpOverload:
        """Return the operator that gives the gradients of this one's arguments."""
        return aten_operator(f"{self.__name__.removesuffix('_')}_backward").overload("default")

    def __getattr__(self, name: str) -> OpOverload:
        # A copy that is being made has no name yet, and is asked for special methods.
        if name.startswith("_"):
            raise AttributeError(f"operators of ATen have no attribute {name!r}")
        if name.removesuffix("_out") not in _OVERLOADS:
            raise AttributeError(f"`aten::{self.__name__}` has no overload {name!r}")
        return self._overloads.setdefault(name, OpOverload(self, name))

    def __reduce__(self) -> tuple[Any, ...]:
        return aten_operator, (self.__name__,)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"

    def __str__(self) -> str:
        return f"aten.{self.__name__}"


_OPERATORS: dict[str, OpOverloadPacket] = {}


def aten_operator(name: str) -> OpOverloadPacket:
    """Return the operator of a name.

    Raises:
        AttributeError: no function here computes it.
    """
    if name not in _OPERATORS:
        function = (
            ATEN_FUNCTIONS.get(name)
            or BACKWARD_FUNCTIONS.get(name)
            or _in_place(name)
            or _public_function(name)
            or _backward(name)
        )
        if function is None:
            raise AttributeError(
                f"`torch.ops.aten.{name}`: no function computes this operator; use a function of"
                " `torch`, `torch.nn.functional` or a method of tensors"
            )
        _OPERATORS[name] = OpOverloadPacket(name, function)
    return _OPERATORS[name]


def _backward(name: str) -> Callable[..., Any] | None:
    """The backward pass of an operator that has one of its own in PyTorch, too."""
    base = name.removesuffix("_backward")
    if base == name:
        return None
    try:
        return backward_of(aten_operator(base).kernel)
    except AttributeError:
        return _backward_of_write(f"{base}_")


def _backward_of_write(name: str) -> Callable[..., Any] | None:
    """The backward pass of an operator that there is in no other form than writing."""
    try:
        write = aten_operator(name).kernel
    except AttributeError:
        return None
    return backward_of(lambda input, *args, **kwargs: write(input.clone(), *args, **kwargs))


def _in_place(name: str) -> Callable[..., Any] | None:
    """The form that writes to its first argument of a function that takes others than here."""
    function = ATEN_FUNCTIONS.get(name.removesuffix("_")) if name.endswith("_") else None
    if function is None:
        return None
    return lambda input, *args, **kwargs: input.copy_(function(input, *args, **kwargs))


def _public_function(name: str) -> Callable[..., Any] | None:
    """The function or method of a name, which takes its arguments as ATen does."""
    if name in DIFFERENT or (name.startswith("_") and not name.startswith("_foreach_")):
        return None
    for prefix, module in _MODULES.items():
        if name.startswith(prefix):
            return getattr(module, name.removeprefix(prefix), None)
    for where in (top_level, flow, flow.nn.functional):
        candidate = getattr(where, name, None)
        if not inspect.isfunction(candidate):
            continue
        # Functions that add to one of `oneflow` may be pickled by another path.
        if inspect.unwrap(candidate).__module__.startswith("oneflow.functional"):
            return candidate
    candidate = getattr(Tensor, name, None)
    return candidate if inspect.isfunction(candidate) else None
