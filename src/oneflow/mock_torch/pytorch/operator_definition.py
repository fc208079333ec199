"""Operators that are defined in Python: `CustomOpDef`.

One of `custom_op` has the gradient that `register_autograd` gives it, or none: its kernel runs
without recording. The kernel of one that a `Library` defines may be made of differentiable
operations, as long as nobody gives the operator a gradient of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from oneflow import autograd
from oneflow.amp.autocast import autocast, is_autocast_enabled
from oneflow.base.dtype import DType, float64
from oneflow.mock_torch.pytorch._C.names import BELOW_AUTOGRAD, _AutoDispatchBelowAutograd
from oneflow.tensor.python_dispatch import DISPATCH, dispatch_types, is_asked
from oneflow.tensor.tensor import Tensor

Kernel = Callable[..., Any]
#: The dispatch key of kernels made of differentiable operations, which PyTorch asks for gradients
#: before it asks a backward function.
COMPOSITE = "CompositeImplicitAutograd"
#: The dispatch key, and the type of device, of tensors without values.
META = "Meta"


class _Counting:
    """The function that is called in place of operators, with their arguments; None: there is none.

    It calls `CustomOpDef.compute`.
    """

    call: Callable[[CustomOpDef, tuple, dict[str, Any]], Any] | None = None


COUNTING = _Counting()


class CustomOpDef:
    """An operator that is defined in Python.

    Attributes:
        name: its name, such as ``"library::blur"``.
        signature: its parameters; those of its first kernel if nothing else says what they are.
        kernels: functions that compute it, by type of device; those for any under None.
        autocast: the dtypes that kernels get under autocast, by type of device.
        fake: the function that is called in their place for tensors without values, if any.
        autograd_kernels: functions that are called in their place above autograd, likewise.
        function: the operator with the gradient that it was given; None: as its kernel has it.
        mutates: the names of arguments that it changes, or ``"unknown"``.
        rules: functions that are called in its place where a mode or the class of an argument is of
            a type.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.signature: inspect.Signature | None = None
        self.kernels: dict[str | None, Kernel] = {}
        self.autograd_kernels: dict[str | None, Kernel] = {}
        self.function: type[autograd.Function] | None = None
        self.fake: Kernel | None = None
        self.autocast: dict[str | None, DType] = {}
        self.mutates: Sequence[str] = ()
        self.rules: dict[type, Kernel] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the kernel for the arguments' device.

        Raises:
            NotImplementedError: there is none.
            RuntimeError: the operator does not take these arguments.
        """
        args, kwargs = self._bound(args, kwargs)
        if COUNTING.call is not None:
            return COUNTING.call(self, args, kwargs)
        return self.compute(args, kwargs)

    def compute(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Compute the operator of all arguments; no counter is told.

        Raises:
            NotImplementedError: there is no kernel for the arguments' device.
        """
        if self.rules and is_asked(args, kwargs):
            result = self._by_rule(args, kwargs)
            if result is not NotImplemented:
                return result
        device = _device_of(args)
        dtype = self.autocast.get(device)
        if dtype is not None and device is not None and is_autocast_enabled(device):
            with autocast(device, enabled=False):
                cast = {name: _cast(device, dtype, value) for name, value in kwargs.items()}
                return self.compute(tuple(_cast(device, dtype, value) for value in args), cast)
        if BELOW_AUTOGRAD.count:
            return self._kernel(device)(*args, **kwargs)
        above = _select_kernel(self.autograd_kernels, device)
        if above is not None or self.function is None:
            return (above or self._kernel(device))(*args, **kwargs)
        leaves = list(_leaves(args))
        if autograd.is_grad_enabled() and any(map(_requires_grad, leaves)):
            call = _DifferentiableCall(args, kwargs)
            return call.result(self.function.apply(call, *leaves))
        return self._below_autograd(args, kwargs)

    def _bound(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """Return all positional arguments, defaults included, and the keyword-only ones."""
        if self.signature is None:
            return args, kwargs
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise RuntimeError(f"`{self.name}` takes {self.signature}: {error}") from None
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def _by_rule(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The result of the rule for the innermost mode, or else for a class of an argument."""
        types, modes = dispatch_types(args, kwargs), DISPATCH.modes
        rule = self.rules.get(type(modes[-1])) if modes else None
        if rule is not None:
            DISPATCH.modes = modes[:-1]
            try:
                return rule(modes[-1], self, types, args, kwargs)
            finally:
                DISPATCH.modes = modes
        for kind in types:
            if kind in self.rules:
                return self.rules[kind](kind, self, types, args, kwargs)
        return NotImplemented

    def register_torch_dispatch(
        self, torch_dispatch_class: type, func: Kernel | None = None, /
    ) -> Any:
        """Add what is called where a mode, or the class of an argument, is of a type.

        Args:
            torch_dispatch_class: the type of the mode, or the class of tensors.
            func: takes the mode or the class, the operator, the classes of the arguments that
                compute operators, the arguments, and those by name; without one, a decorator is
                returned.
        """
        if func is None:
            return lambda function: self.register_torch_dispatch(torch_dispatch_class, function)
        self.rules[torch_dispatch_class] = func
        return func

    def _below_autograd(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        with _AutoDispatchBelowAutograd():
            return self._kernel(_device_of(args))(*args, **kwargs)

    def _kernel(self, device: str | None) -> Kernel:
        if device == META.lower() and self.fake is not None:
            return self.fake
        kernel = _select_kernel(self.kernels, device)
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
        if self.signature is None:
            self.signature = inspect.signature(func)
        for device_type in [device_types] if device_types is None else as_list(device_types):
            above = device_type is not None and device_type.startswith("Autograd")
            if above or device_type == COMPOSITE:
                self.autograd_kernels[device_type_of(device_type)] = func
            if not above:
                self.kernels[device_type_of(device_type)] = func
        return func

    def register_fake(self, func: Kernel) -> Kernel:
        """Register the result for tensors on the device ``"meta"``, which have no values.

        Without it the kernel is run for these, too, as it is in graphs.
        """
        self.fake = func
        return func

    def register_vmap(self, func: Kernel | None = None) -> Any:
        """Return `func`, or a decorator that does: `vmap` calls operators for each element."""
        return func if func is not None else (lambda function: function)

    def register_autocast(self, device_type: str, cast_inputs: DType) -> None:
        """Convert floating-point arguments where autocast of that device is enabled.

        Args:
            device_type: such as ``"cuda"``.
            cast_inputs: the dtype that kernels get; autocast is off within them.
        """
        self.autocast[device_type] = cast_inputs

    def register_autograd(
        self, backward: Kernel, /, *, setup_context: Kernel | None = None
    ) -> None:
        """Give the operator a gradient.

        Args:
            backward: takes the context and the gradients of the outputs, gives those of the inputs.
            setup_context: takes the context, the inputs, the output, and `keyword_only_inputs` if
                the operator has any, and saves what `backward` needs.

        Raises:
            RuntimeError: the operator changes arguments.
        """
        if self.mutates:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator `{self.name}`: it"
                " changes arguments. Give the gradient to an operator that returns new tensors"
            )
        self.function = function_of(self, backward, setup_context)


class _DifferentiableCall:
    """One call of an operator with a gradient, whose arguments go through a `Function` one by one.

    Attributes:
        args: the arguments by position; lists of tensors are lists.
        kwargs: the arguments that are keyword-only.
    """

    def __init__(self, args: tuple, kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs
        self._outputs: tuple = ()
        self._single = True

    def leaves_of_result(self, result: Any) -> tuple:
        """The tensors among the results of the kernel, and its other results."""
        self._single = not isinstance(result, tuple)
        self._outputs = (result,) if self._single else result
        return tuple(_leaves(self._outputs))

    def result(self, leaves: Sequence[Any]) -> Any:
        """The result of the kernel, with other leaves."""
        outputs = tuple(_nested(leaves, self._outputs))
        return outputs[0] if self._single else outputs

    def gradients(self, results: Any) -> tuple:
        """Gradients of all leaves of the arguments from what a backward function returned.

        Raises:
            RuntimeError: it has not the form of the arguments.
        """
        grads = results if isinstance(results, tuple) else (results,)
        if len(grads) != len(self.args) or any(
            _is_list(arg) and (not isinstance(grad, list | tuple) or len(grad) != len(arg))
            for arg, grad in zip(self.args, grads, strict=True)
        ):
            raise RuntimeError(
                f"the backward function must return a gradient (or None) for each of"
                f" {len(self.args)} arguments, and a list for a list of tensors, got {grads}"
            )
        pairs = zip(self.args, grads, strict=True)
        return tuple(x for arg, grad in pairs for x in (grad if _is_list(arg) else (grad,)))


def function_of(
    operator: CustomOpDef, backward: Kernel | None, setup_context: Kernel | None
) -> type[autograd.Function]:
    """An operator with its gradient; without a backward function the backward pass raises."""

    def forward(ctx: Any, call: _DifferentiableCall, *leaves: Any) -> Any:
        result = operator._below_autograd(call.args, call.kwargs)
        ctx.operator_call = call
        if setup_context is not None:
            keywords = {"ctx": ctx, "inputs": call.args, "output": result}
            if call.kwargs:
                keywords["keyword_only_inputs"] = call.kwargs
            with _AutoDispatchBelowAutograd():
                setup_context(**keywords)
        return call.leaves_of_result(result)

    def backward_of_leaves(ctx: Any, *grads: Any) -> Any:
        if backward is None:
            raise RuntimeError(
                f"Trying to backward through `{operator.name}` but no autograd formula was "
                "registered. Please use register_autograd to add one."
            )
        call, needs = ctx.operator_call, ctx.needs_input_grad
        ctx.needs_input_grad = tuple(_nested(needs[1:], call.args))
        try:
            results = backward(ctx, *_nested(grads, call._outputs))
        finally:
            ctx.needs_input_grad = needs
        return (None, *call.gradients(results))

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward_of_leaves)}
    name = f"GeneratedBackwardFor_{operator.name.replace('::', '_')}_default"
    return type(name, (autograd.Function,), members)


def _cast(device: str, dtype: DType, value: Any) -> Any:
    """An argument as kernels get it under autocast: tensors of the device in its dtype."""
    if _is_list(value):
        return [_cast(device, dtype, item) for item in value]
    if not isinstance(value, Tensor) or value.device.type != device or value.dtype == float64:
        return value
    return value.to(dtype) if value.is_floating_point() else value


def _device_of(args: Sequence[Any]) -> str | None:
    """The type of device of the first tensor."""
    tensors = (leaf for leaf in _leaves(args) if isinstance(leaf, Tensor))
    return next((tensor.device.type for tensor in tensors), None)


def _select_kernel(kernels: dict[str | None, Kernel], device: str | None) -> Kernel | None:
    """The kernel for a type of device, or the one for any."""
    return kernels.get(device) or kernels.get(None)


def _is_list(value: Any) -> bool:
    """Test if a value is a list of tensors."""
    return isinstance(value, list | tuple) and all(isinstance(item, Tensor) for item in value)


def _leaves(values: Sequence[Any]) -> Iterator[Any]:
    """Values, and the tensors in lists of tensors among them."""
    for value in values:
        yield from value if _is_list(value) else (value,)


def _nested(leaves: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Leaves in lists where `values` has lists of tensors."""
    rest = iter(leaves)
    return [[next(rest) for _ in value] if _is_list(value) else next(rest) for value in values]


def _requires_grad(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def as_list(names: Any) -> Sequence[Any]:
    """Return names, or one name as a list."""
    return [names] if isinstance(names, str) else names


def device_type_of(name: str | None) -> str | None:
    """Return the type of device of a dispatch key of PyTorch, or of a device type; None for any."""
    if name is None or name.startswith("Composite") or name == "default":
        return None
    return name.removeprefix("Autograd").lower() or None
