"""Tensors of a subclass whose elements are in another tensor, beside something that places them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

from oneflow.base.composed_operand import ComposedOperandError
from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.layout import Layout
from oneflow.differentiation.hooks import HookHandle
from oneflow.tensor.subclasses import disabled_torch_function
from oneflow.tensor.tensor import Tensor


class ComposedTensor(Tensor):
    """Base of tensors that consist of others: the tensor of values has dtype, device and history.

    A class defines `_value`, which raises the error by which `functional.registry` finds the
    functions of that class, `with_values`, and ``_parts``: a record with the tensor of the values
    and the layout.
    """

    _parts: Any
    # Writes to the tensor before it got its values, less those to the values by then.
    _earlier_writes: int = 0

    __torch_function__ = staticmethod(disabled_torch_function)

    @property
    def _elements(self) -> Tensor:
        return self._parts.values

    @property
    def layout(self) -> Layout:
        """The form in which the values are placed."""
        return self._parts.layout

    def with_values(self, values: Tensor) -> Self:
        """Return a tensor of other values in the same places."""
        raise NotImplementedError

    def form(self) -> Self:
        """Return what says where values are placed: a tensor without any, which can be given them.

        It has no history.
        """
        values = self._elements.detach()
        return self.with_values(values.new_zeros((0, *values.shape[1:])))

    def put_values(self, values: Tensor) -> Self:
        """Take other values in the same places; returns the tensor."""
        self._put_parts(replace(self._parts, values=values))
        return self

    def _put_parts(self, parts: Any, writes: int = 0) -> None:
        """Take other parts, which counts as so many writes to the tensor."""
        old, new = self._elements, parts.values
        # Tensors of inference mode do not count writes.
        if not (old.is_inference() or new.is_inference()):
            self._earlier_writes += old._version - new._version + writes
        if old.retains_grad and new.requires_grad and not new.is_leaf:
            new.retain_grad()
        self._parts = parts

    @property
    def _version(self) -> int:
        """Number of writes to the tensor or its values."""
        return self._earlier_writes + self._elements._version

    def with_gradient(self, values: Tensor) -> Self:
        """Return the gradient whose tensor of values is given."""
        return self.with_values(values)

    def gradient_of_elements(self, gradient: Tensor) -> Tensor:
        """Return the gradient of the tensor of values of one of this tensor."""
        return elements_of(gradient)

    @property
    def dtype(self) -> DType:
        """Type of the values."""
        return self._elements.dtype

    @property
    def device(self) -> Device:
        """The device of the values."""
        return self._elements.device

    @property
    def data(self) -> Self:
        """The tensor without its history, on the same memory."""
        return self.with_values(self._elements.data)

    @data.setter
    def data(self, value: Self) -> None:
        if type(value) is not type(self) or value.layout is not self.layout:
            raise ComposedOperandError(
                f"`data` of a {type(self).__name__} of layout {self.layout} can only be another"
                f" one, got {type(value).__name__} of layout {value.layout}"
            )
        requires_grad = self.requires_grad
        self._put_parts(value.data._parts)
        self.requires_grad_(requires_grad)

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self.ndim

    def is_floating_point(self) -> bool:
        """Return whether the values are real numbers."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Return whether the values are complex numbers."""
        return self.dtype.is_complex

    def __hash__(self) -> int:
        return id(self)

    @property
    def requires_grad(self) -> bool:
        """True if gradients flow to or through the values."""
        return self._elements.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Ask for the gradient of the values, or stop asking."""
        values = self._elements
        if requires_grad != values.requires_grad:
            # Detach the values: they may be another tensor's, too.
            leaf = values.detach() if values.is_leaf else values
            self.put_values(leaf.requires_grad_(requires_grad))
        return self

    @property
    def grad(self) -> Self | None:
        """The gradient, whose values are in the same places."""
        values = self._elements.grad
        return None if values is None else self.with_gradient(values)

    @grad.setter
    def grad(self, value: Self | None) -> None:
        self._elements.grad = None if value is None else self.gradient_of_elements(value)

    def detach_(self) -> Self:
        """Let the tensor forget its history, and ask for no gradient."""
        return self.put_values(self._elements.detach())

    def register_hook(self, hook: Callable[[Self], Self | None]) -> HookHandle:
        """Call a function with the gradient, a composed tensor; its result replaces it.

        Raises:
            RuntimeError: the tensor does not require grad.
        """
        form = self.form()  # the tensor itself would live in a cycle

        def on_values(values: Tensor) -> Tensor | None:
            result: Any = hook(form.with_gradient(values))
            return form.gradient_of_elements(result) if isinstance(result, Tensor) else result

        return self._elements.register_hook(on_values)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Self], Any]) -> HookHandle:
        """Call ``hook(tensor)`` after a gradient was added to `grad` of this leaf.

        Raises:
            RuntimeError: the tensor is no leaf, or does not require grad.
        """
        form, reference = self.form(), weakref.ref(self)

        def on_values(values: Tensor) -> Any:
            tensor = reference()
            return hook(form.with_values(values) if tensor is None else tensor)

        return self._elements.register_post_accumulate_grad_hook(on_values)

    def retain_grad(self) -> None:
        """Keep the gradient although the tensor is no leaf, also behind a function in place."""
        self._elements.retain_grad()

    def detach(self) -> Self:
        """Return the tensor without its history."""
        result = self.with_values(self._elements.detach())
        result._earlier_writes = self._earlier_writes
        return result

    @property
    def is_leaf(self) -> bool:
        """True if the values were not computed from what requires grad."""
        return self._elements.is_leaf

    @property
    def grad_fn(self) -> Any:
        """The node that computed the values; None for leaves."""
        return self._elements.grad_fn


def _of_values(name: str) -> property:
    return property(lambda self: getattr(self._elements, name), doc=f"`{name}` of the values.")


_OF_VALUES = (
    "_backward_hooks is_consistent is_eager is_global is_lazy is_local output_nr placement sbp"
)
for _name in _OF_VALUES.split():
    setattr(ComposedTensor, _name, _of_values(_name))


def elements_of(tensor: Tensor) -> Tensor:
    """Return the tensor of the values of a composed tensor; others are their own."""
    return tensor._elements if isinstance(tensor, ComposedTensor) else tensor


def composed_form(tensor: Any) -> ComposedTensor | None:
    """Return what says where values are placed, without the values; None of other tensors."""
    return tensor.form() if isinstance(tensor, ComposedTensor) else None


def in_form(form: ComposedTensor | None, values: Tensor) -> Tensor:
    """Return a tensor of values placed as `form` is; without `form`, the values themselves."""
    return values if form is None else form.with_values(values)
