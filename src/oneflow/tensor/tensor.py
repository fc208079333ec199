"""`Tensor`: PyTorch's mutable tensor as a handle on immutable values.

The class holds state and the few methods that need it; everything computed is attached by
`oneflow.functional`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import ref

import numpy as np

from oneflow.base.composed_operand import ComposedOperandError
from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.flags import as_flag
from oneflow.base.pytorch_warnings import warn_of_result_without_grad
from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, NdSbp
from oneflow.base.shape import Size
from oneflow.base.spec import TensorSpec
from oneflow.differentiation.grad_mode import MODE
from oneflow.differentiation.hooks import (
    SUMS,
    TRANSFORMS,
    UNWRAP,
    WRAP,
    HookHandle,
    PostAccumulateHook,
    RetainedGradient,
    move_retained_gradient,
)
from oneflow.differentiation.node import AccumulateGrad, Node, leaf_node
from oneflow.differentiation.node_names import public_node
from oneflow.dispatch.global_call import converted
from oneflow.primitives.operators.creation import zeros
from oneflow.program.value import INFERENCE, Value, ValueOfClass
from oneflow.runtime.eager import read_ready
from oneflow.runtime.lazy_array import HostArray
from oneflow.tensor.attributes import UserAttributes, WithState
from oneflow.tensor.global_values import full_array
from oneflow.tensor.reads import READS, is_observed, read_number
from oneflow.tensor.shared_arrays import array_of
from oneflow.tensor.storage import MEMORY_LOCK
from oneflow.tensor.view_chain import NO_VIEWS, ViewChain
from oneflow.tensor.views import (
    alias_storage,
    cut_off,
    exchange_memory,
    start_family,
    unwrap,
    write,
)

# The placeholder, in `Tensor._grad`, of zeros that nobody has looked at yet.
ZERO_GRAD: Any = object()


class Tensor(WithState):
    """A multi-dimensional array with PyTorch's semantics.

    Make one with `oneflow.tensor`, `oneflow.zeros`, ...

    Shape, dtype and device are always known; values are computed when they are first read.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x[0][1] = 8
        >>> x.tolist()
        [[1.0, 8.0], [3.0, 4.0]]
        >>> x.shape, x.ndim, x.numel(), x.spec.dtype, x.device
        (oneflow.Size([2, 2]), 2, 4, oneflow.float32, device(type='cpu', index=0))
        >>> y = (x.requires_grad_() ** 2).sum()
        >>> y.retain_grad()
        >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print("done"))
        >>> y.backward()
        done
        >>> x.grad.numpy(), y.item(), y.grad.item()
        (array([[ 2., 16.],
               [ 6.,  8.]], dtype=float32), 90.0, 1.0)
        >>> x.requires_grad, x.is_leaf, x.grad_fn, y.is_leaf, y.retains_grad
        (True, True, None, False, True)
        >>> x.detach()[0][0] = 5  # the same memory, without a history
        >>> x.data[0][1] = 7  # the same, which autograd does not notice
        >>> y.detach_().requires_grad
        False
    """

    # State. Defaults live on the class so that making a tensor stores one attribute; `_value` is
    # always set; `unwrap` gives the current one.
    _value: Value
    _family: Any = None  # memory shared with other tensors, see `oneflow.tensor.views`
    _chain: ViewChain = NO_VIEWS
    _seen: int = 0  # the version that `_value` is of; `~` of one: the view was never computed
    _writes: int = 0  # as long as the memory is not shared
    _grad: Tensor | None = None
    _retains_grad: bool = False
    # The node of a leaf that has stopped asking for gradients, or got other data: it asks again.
    _former_node: AccumulateGrad | None = None
    # The SBP of a global leaf's gradient, if not the leaf's.
    gradient_sbp: NdSbp | None = None
    __array_priority__ = 1000
    __dict__ = UserAttributes()  # pyright: ignore[reportAssignmentType]

    # --- what is known without running anything

    @property
    def spec(self) -> TensorSpec:
        """Shape, dtype and device (or placement and SBP) as one object; equal ones are the same."""
        return self._value.spec

    @property
    def shape(self) -> Size:
        """Sizes of the dimensions."""
        return self._value.spec.size

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self._value.spec.dtype

    @property
    def device(self) -> Device:
        """The device of the tensor, or the placement of a global one."""
        return self._value.spec.device

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._value.spec.ndim

    def numel(self) -> int:
        """Number of elements."""
        return self._value.spec.numel

    def __len__(self) -> int:
        if not self._value.spec.shape:
            raise TypeError("len() of a 0-d tensor")
        return self._value.spec.shape[0]

    def __hash__(self) -> int:
        return id(self)

    # --- reading values (sync points)

    def _read(self) -> Any:
        """The whole array; of a global tensor as `full_array` says."""
        value = unwrap(self)
        if type(recorder := value.recorder) is HostArray:
            array = recorder.numbers
        else:
            array = read_ready(value) if value.spec.sbp is None else full_array(value)
        if READS.arrays is not None:
            READS.arrays.append(np.asarray(array))
        return array

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The values as an array, a copy or the memory of `array_of`; `force` changes nothing."""
        as_flag("numpy", "force", force)
        array = array_of(self)
        return np.array(self._read()) if array is None else array

    def item(self) -> int | float | bool:
        """The only element as a Python number.

        Raises:
            RuntimeError: there is not exactly one element.
        """
        if (count := self._value.spec.numel) != 1:
            raise RuntimeError(f"a Tensor with {count} elements cannot be converted to Scalar")
        if self._seen < 0 and not is_observed():
            number = read_number(self)
            if number is not None:
                return number.item()
        array = self._read()
        return array.item() if isinstance(array, np.generic) else np.asarray(array).item()

    def tolist(self) -> Any:
        """The values as nested Python lists; a 0-dim tensor gives a number."""
        return np.asarray(self._read()).tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numpy(), dtype, copy=copy)

    def __bool__(self) -> bool:
        if self._value.spec.numel != 1:
            what = "more than one value" if self._value.spec.numel else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
        return bool(self.item())

    def __int__(self) -> int:
        return int(self._number("int"))

    def __float__(self) -> float:
        return float(self._number("float"))

    def __complex__(self) -> complex:
        return complex(self._number("complex"))

    def _number(self, kind: str) -> Any:
        if self._value.spec.numel != 1:
            raise ValueError(f"only tensors of one element convert to {kind}, got {self.shape}")
        number: Any = self.item()
        if kind == "complex" or not isinstance(number, complex):
            return number
        if number.imag:
            raise RuntimeError(f"{number} cannot be converted to {kind}; take its real part")
        return number.real

    def __index__(self) -> int:
        if self._value.spec.dtype.is_floating_point or self._value.spec.numel != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    # --- autograd

    @property
    def requires_grad(self) -> bool:
        """True if gradients flow to or through this tensor."""
        return unwrap(self).node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Ask for gradients of this leaf, or stop asking.

        Raises:
            RuntimeError: the dtype has no gradients, or the tensor is not a leaf.
        """
        value = unwrap(self)
        if as_flag("requires_grad_", "requires_grad", requires_grad) == (value.node is not None):
            return self
        if not requires_grad and not self.is_leaf:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        if requires_grad and not MODE.inference and value.stale is INFERENCE:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                "allowed. Use a clone of it."
            )
        spec = value.spec
        if requires_grad and not (spec.dtype.is_floating_point or spec.dtype.is_complex):
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients, got "
                f"{spec.dtype}"
            )
        fresh = value.alias()
        if requires_grad:
            fresh.node = leaf_node(self, spec, accumulate_grad, self._former_node)
        else:
            self._former_node, fresh.node = value.node, None
        self._value = fresh
        if self._family is not None:
            # A view that asks for gradients of its own is a leaf, with a family of its own.
            family = start_family(self, self) if self._chain else self._family
            family.value = fresh
            family.storage.track(fresh)
        return self

    @property
    def is_leaf(self) -> bool:
        """True if this tensor was not computed from one that requires grad."""
        node = unwrap(self).node
        return node is None or (isinstance(node, AccumulateGrad) and node.variable is self)

    @property
    def grad_fn(self) -> Node | None:
        """The autograd node that produced this tensor; None for leaves."""
        return None if self.is_leaf else public_node(unwrap(self).node)

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient of a leaf (or of a tensor with `retain_grad`)."""
        if self._grad is None:
            warn_of_result_without_grad(self._value.node, self._retains_grad)
        elif self._grad is ZERO_GRAD:
            spec = self._value.spec
            self._grad = _from_value(zeros(shape=spec.shape, dtype=spec.dtype, device=spec.device))
        return self._grad

    @grad.setter
    def grad(self, grad: Tensor | None) -> None:
        if grad is not None and not isinstance(grad, Tensor):
            raise TypeError(f"`grad` must be a Tensor or None, got {type(grad).__name__}")
        if grad is self:
            raise RuntimeError("a tensor cannot be its own `grad`; assign a copy of it")
        if grad is not None and grad._value.spec is not self._value.spec:
            raise RuntimeError(
                f"attempting to assign a gradient {grad._value.spec!r} on `{grad.device}` to a "
                f"tensor {self._value.spec!r} on `{self.device}`; they must be the same"
            )
        self._grad = grad

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def register_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(grad)`` on this tensor's complete gradient.

        A return value other than None replaces the gradient.

        Returns:
            A handle whose `remove()` takes the hook away.

        Raises:
            RuntimeError: the tensor does not require grad.

        Example:
            >>> import oneflow as flow
            >>> x = flow.tensor([3.0], requires_grad=True)
            >>> handle = x.register_hook(lambda grad: grad * 2)
            >>> (x * x).backward()
            >>> x.grad.item()
            12.0
        """
        value = unwrap(self)
        if value.node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        return HookHandle(
            value.node.ensure_hooks().outputs.setdefault(value.output_index, []), hook
        )

    def register_post_accumulate_grad_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(tensor)`` after a gradient was added to `grad` of this leaf.

        Raises:
            RuntimeError: the tensor is no leaf, or does not require grad.
        """
        value = unwrap(self)
        if value.node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        return HookHandle(value.node.post_hooks, PostAccumulateHook(self, hook))

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf tensor in `grad` after backward.

        After a write in place it is that of the new content.

        Raises:
            RuntimeError: the tensor does not require grad, or a function transform is running.
        """
        value = unwrap(self)
        if value.node is None:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if TRANSFORMS.running:
            raise RuntimeError(
                "retain_grad() called inside a function transform such as `func.grad`, where "
                "tensors keep no gradients; differentiate by that tensor instead"
            )
        if self.is_leaf or self._retains_grad:
            return
        self._retains_grad = True
        retained = value.node.ensure_hooks().retained.setdefault(value.output_index, [])
        retained.append(RetainedGradient(self, _accumulate))

    @property
    def retains_grad(self) -> bool:
        """True if `retain_grad` was called on this non-leaf tensor."""
        return self._retains_grad

    def detach(self) -> Tensor:
        """Return a tensor on the same memory, without history: a write to either changes both."""
        with MEMORY_LOCK:  # another thread may be about to write to a part
            return alias_storage(_from_value(unwrap(self).alias()), self, uncounted=False)

    def detach_(self) -> Tensor:
        """Cut this tensor off its history.

        Raises:
            RuntimeError: it is a view.
        """
        if self._chain:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        try:
            value = unwrap(self)
        except ComposedOperandError:  # its class has a method of its own
            return type(self).detach_(self)
        return cut_off(self, value.alias())

    @property
    def data(self) -> Tensor:
        """Like `detach`, but writes do not count for autograd's check of saved tensors."""
        with MEMORY_LOCK:
            return alias_storage(_from_value(unwrap(self).alias()), self, uncounted=True)

    @data.setter
    def data(self, new: Tensor) -> None:
        if not isinstance(new, Tensor):
            raise TypeError(f"`data` must be a Tensor, got {type(new).__name__}")
        node, is_leaf = unwrap(self).node, self.is_leaf
        exchange_memory(self, new)
        if is_leaf and node is not None:
            self._former_node = node
            self.requires_grad_()

    def is_inference(self) -> bool:
        """True if this tensor was made in inference mode.

        Example:
            >>> import oneflow as flow
            >>> with flow.inference_mode():
            ...     x = flow.ones(2)
            >>> x.is_inference(), x.clone().is_inference()
            (True, False)
        """
        return unwrap(self).stale is INFERENCE

    def _replace_with_view(self, view: Tensor, is_write: bool = True) -> Tensor:
        """Turn into `view`, a view of this tensor; `is_write`: that counts, no write follows."""
        if self.requires_grad and self.is_leaf:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
            )
        if self._retains_grad:
            move_retained_gradient(self, unwrap(self), view._value)
        self._value, self._family = view._value, view._family
        self._chain, self._seen = view._chain, view._seen
        self._family.writes[0] += is_write
        return self


def _from_value(value: Value) -> Tensor:
    tensor = Tensor.__new__(Tensor)
    tensor._value = value
    return tensor


def value_of(tensor: Tensor) -> Value:
    """The value of a tensor, which goes on without the tensor."""
    value = unwrap(tensor)
    return value.kept() if isinstance(value, ValueOfClass) else value


def _as_gradient(grad: Value, owner: Tensor) -> Value:
    """Return the gradient of a global leaf with the leaf's SBP, broadcast for a partial sum."""
    sbp = owner.gradient_sbp or owner._value.spec.sbp
    if grad.spec.sbp == sbp:
        return grad
    return converted(
        grad, tuple([BROADCAST if component is PARTIAL_SUM else component for component in sbp])
    )


def accumulate_grad(owner: Tensor, grad: Value) -> None:
    """Add a gradient to the `grad` of a leaf, unless it asks for none any more."""
    if unwrap(owner).node is not None:
        add_gradient(owner, grad)


def add_gradient(owner: Tensor, grad: Value) -> None:
    """Add a gradient to the `grad` of a tensor, whether it asks for it or not."""
    _accumulate(owner, grad if grad.spec.sbp is None else _as_gradient(grad, owner))


def _accumulate(owner: Tensor, grad: Value) -> None:
    with MEMORY_LOCK:  # several backward passes may run at a time
        current = owner._grad
        if current is None or current is ZERO_GRAD:
            _replace_gradient(owner, None, grad)
        else:
            total = SUMS.add(unwrap(current), grad)
            if MODE.enabled or isinstance(total, ValueOfClass):
                _replace_gradient(owner, current, total)
            else:
                write(current, total)


def _replace_gradient(owner: Tensor, old: Tensor | None, grad: Value) -> None:
    owner._grad = new = grad.handle() if isinstance(grad, ValueOfClass) else _from_value(grad)
    recorder = grad.recorder
    if grad.array is None and recorder is not None:
        recorder.note_gradient(partial(restore_gradient, ref(owner), ref(new), old))


def restore_gradient(owner: ref[Tensor], new: ref[Tensor], old: Tensor | None) -> None:
    """Give a tensor its old gradient back, if it still has the new one."""
    tensor, grad = owner(), new()
    if tensor is not None and grad is not None and tensor._grad is grad:
        tensor._grad = old


WRAP.fill(lambda value: value.handle() if isinstance(value, ValueOfClass) else _from_value(value))
UNWRAP.fill(value_of)
