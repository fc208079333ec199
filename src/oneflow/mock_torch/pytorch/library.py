"""``torch.library``: operators that libraries define in Python, and call by ``torch.ops``.

An operator is called like a function. Its kernel runs without recording gradients; where
`register_autograd` has given a backward function, that one gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneflow import autograd
from oneflow.tensor.tensor import Tensor

Kernel = Callable[..., Any]


class CustomOpDef:
    """An operator that is defined in Python.

    Attributes:
        name: its name, such as ``"library::blur"``.
        kernels: functions that compute it, by type of device; those for any under None.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.kernels: dict[str | None, Kernel] = {}
        self._function: type[autograd.Function] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the kernel for the arguments' device.

        Raises:
            NotImplementedError: there is none.
        """
        if self._function is not None and not kwargs:
            return self._function.apply(*args)
        with autograd.no_grad():
            return self._kernel(args)(*args, **kwargs)

    def _kernel(self, args: Sequence[Any]) -> Kernel:
        device = next((each.device.type for each in args if isinstance(each, Tensor)), None)
        kernel = self.kernels.get(device) or self.kernels.get(None)
        if kernel is None:
            raise NotImplementedError(
                f"`{self.name}` has no kernel for {device or 'any device'}; kernels in C++ are not"
                " loaded, `torch.library.impl` adds one in Python"
            )
        return kernel

    @property
    def default(self) -> CustomOpDef:
        """The operator itself: it has one overload."""
        return self

    def register_kernel(self, device_types: Any, func: Kernel | None = None, /) -> Any:
        """Add a kernel for a type of device, several, or any (None); without one, a decorator."""
        if func is None:
            return lambda function: self.register_kernel(device_types, function)
        for each in [device_types] if device_types is None else _as_list(device_types):
            self.kernels[_device_type(each)] = func
        return func

    def register_fake(self, func: Kernel) -> Kernel:
        """Return `func`: shapes are found by running the kernel."""
        return func

    def register_autograd(
        self, backward: Kernel, /, *, setup_context: Kernel | None = None
    ) -> None:
        """Give the operator a gradient.

        Args:
            backward: takes the context and the gradients of the outputs, gives those of the inputs.
            setup_context: takes the context, the inputs and the output, and saves what `backward`
                needs.
        """
        operator = self

        class Function(autograd.Function):
            @staticmethod
            def forward(ctx: Any, *args: Any) -> Any:
                output = operator._kernel(args)(*args)
                if setup_context is not None:
                    setup_context(ctx, args, output)
                return output

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                return backward(ctx, *grads)

        self._function = Function


class CompositeOp(CustomOpDef):
    """An operator made of others, which give its gradient.

    Args:
        name: its name.
        function: what computes it.
    """

    def __init__(self, name: str, function: Kernel) -> None:
        super().__init__(name)
        self._composition = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self._composition(*args, **kwargs)


OPERATORS: dict[str, CustomOpDef] = {}


def _as_list(names: Any) -> Sequence[Any]:
    return [names] if isinstance(names, str) else names


def _device_type(name: str | None) -> str | None:
    """Return the type of device of a dispatch key of PyTorch, or of a device type; None for any."""
    if name is None or name in (
        "CompositeExplicitAutograd",
        "CompositeImplicitAutograd",
        "default",
    ):
        return None
    return name.lower()


def _operator(name: str) -> CustomOpDef:
    if "::" not in name:
        raise ValueError(f"`name` must be 'namespace::name', got {name!r}")
    return OPERATORS.setdefault(name, CustomOpDef(name))


def define_composite(name: str, function: Kernel) -> None:
    """Define an operator by a function of others."""
    OPERATORS[name] = CompositeOp(name, function)


def custom_op(
    name: str,
    fn: Kernel | None = None,
    /,
    *,
    mutates_args: Any = (),
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Define an operator by the function that computes it; without one, return a decorator.

    Args:
        name: ``"namespace::name"``; ``torch.ops.namespace.name`` is the operator then.
        fn: the function.
        mutates_args: names of arguments that it changes; nothing has to know them here.
        device_types: types of devices for which the function is; any by default.
        schema: the function's own signature is what counts.
        tags: change nothing.

    Raises:
        ValueError: the name has no namespace.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> @torch.library.custom_op("example::double", mutates_args=())
        ... def double(x: torch.Tensor) -> torch.Tensor:
        ...     return x * 2
        >>> torch.ops.example.double(torch.ones(1)).item()
        2.0
    """
    if fn is None:
        return lambda function: custom_op(name, function, device_types=device_types)
    operator = _operator(name)
    operator.register_kernel(device_types, fn)
    return operator


def define(qualname: str, schema: str | None = None, **options: Any) -> None:
    """Declare an operator, whose kernels follow."""
    _operator(qualname)


def impl(qualname: str, types: Any, func: Kernel | None = None, **options: Any) -> Any:
    """Add a kernel to an operator; without one, return a decorator."""
    return _operator(qualname).register_kernel(types, func)


def register_fake(op: Any, func: Kernel | None = None, /, **options: Any) -> Any:
    """Return `func`, or a decorator that does: shapes are found by running the kernel."""
    return func if func is not None else (lambda function: function)


impl_abstract = register_fake


def register_kernel(
    op: Any, device_types: Any, func: Kernel | None = None, /, **options: Any
) -> Any:
    """Add a kernel to an operator, given as such or by its name."""
    return _found(op).register_kernel(device_types, func)


def register_autograd(
    op: Any, backward: Kernel, /, *, setup_context: Kernel | None = None, **options: Any
) -> None:
    """Give an operator (or the one of a name) a gradient: `CustomOpDef.register_autograd`."""
    _found(op).register_autograd(backward, setup_context=setup_context)


def _found(op: Any) -> CustomOpDef:
    return op if isinstance(op, CustomOpDef) else _operator(op)


class Library:
    """Operators of one namespace.

    Args:
        ns: the namespace.
        kind: ``"DEF"``, ``"IMPL"`` or ``"FRAGMENT"``, which make no difference.
        dispatch_key: the devices for which kernels are that say nothing else.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key

    def define(self, schema: str, *args: Any, **options: Any) -> str:
        """Declare an operator by its schema, and return its name."""
        name = schema.partition("(")[0].strip()
        _operator(f"{self.ns}::{name}")
        return name

    def impl(self, op_name: Any, fn: Kernel, dispatch_key: str = "", **options: Any) -> None:
        """Add a kernel; those that tell shapes or choose types (``"Meta"``) are not needed."""
        key = dispatch_key or self.dispatch_key
        if not key.startswith(("Meta", "Autocast", "Autograd")):
            name = op_name if isinstance(op_name, str) else op_name.name
            _operator(f"{self.ns}::{name.rpartition('::')[2]}").register_kernel(key or None, fn)
