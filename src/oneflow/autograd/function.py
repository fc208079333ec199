"""`Function`: operators whose backward pass the user writes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from oneflow.autograd.forward_mode import adjoint
from oneflow.autograd.function_context import FunctionCtx as FunctionCtx
from oneflow.base.program_name import PYTORCH, program_name
from oneflow.base.pytorch_warnings import warn_in_place_of_pytorch
from oneflow.base.shape import sums_to
from oneflow.differentiation.grad_mode import MODE, enable_grad, no_grad, tangent_passes
from oneflow.differentiation.node import Node
from oneflow.program.value import Value
from oneflow.tensor.call import view_of_all, wrap
from oneflow.tensor.composed import ComposedTensor, composed_form, elements_of, in_form
from oneflow.tensor.tensor import Tensor, value_of
from oneflow.tensor.views import unwrap, write


class FunctionNode(Node):
    """Backward of one call of a user's `Function`."""

    __slots__ = (
        "_context",
        "_forms",
        "_function",
        "_input_forms",
        "_input_specs",
        "_positions",
        "_results",
        "materialize_grads",
    )

    def __init__(
        self,
        function: type[Function],
        context: FunctionCtx,
        tracked: Sequence[tuple[int, Value]],
        inputs: Sequence[Any],
        outputs: Sequence[Any],
    ) -> None:
        tensors = [elements_of(output) for output in outputs if isinstance(output, Tensor)]
        edges = tuple((value.node, value.output_index) for _, value in tracked)
        super().__init__(edges, tuple(tensor._value.spec for tensor in tensors))
        self._results = tuple(isinstance(output, Tensor) for output in outputs)
        # Gradients of elements have their places by these.
        self._forms = tuple(map(composed_form, outputs))
        self._input_forms = tuple(composed_form(inputs[position]) for position, _ in tracked)
        self._function, self._context = function, context
        self._positions = tuple(position for position, _ in tracked)
        self._input_specs = tuple(
            unwrap(elements_of(x)).spec if isinstance(x, Tensor) else None for x in inputs
        )
        self.materialize_grads = context.materialize_grads

    def apply(self, grads: list[Any]) -> list[Any]:
        """Call the user's `backward`."""
        context = self._context
        context._node, context._grads = self, grads
        try:
            # Results that are no tensors have a place among the gradients, too.
            rest = iter(grads)
            tensor_grads = [next(rest) if is_tensor else None for is_tensor in self._results]
            wrapped_grads = [
                None if grad is None else in_form(form, wrap(grad))
                for form, grad in zip(self._forms, tensor_grads, strict=True)
            ]
            context._in_jvp = MODE.tangents and self._function.jvp is not Function.jvp
            with tangent_passes(False):  # those that users run in these methods are their own
                if context._in_jvp:
                    results = adjoint(self._function.jvp, context, self._input_specs, wrapped_grads)
                else:
                    results = self._function._backward()(context, *wrapped_grads)
        finally:
            context._node, context._grads, context._in_jvp = None, (), False
        return self._checked(results if isinstance(results, tuple) else (results,))

    def _checked(self, results: tuple) -> list[Value | None]:
        """The values of the gradients that `backward` returned, for the arguments that want one."""
        count = len(self._context.needs_input_grad)
        if any(result is not None for result in results[count:]) or len(results) < count:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients "
                f"(expected {count}, got {len(results)})"
            )
        values: list[Value | None] = []
        places = zip(self._positions, self._input_forms, self.edges, strict=True)
        for position, form, (node, index) in places:
            grad = results[position]
            if grad is not None and not isinstance(grad, Tensor):
                raise TypeError(
                    f"function {self.name()} returned at index {position} a "
                    f"{type(grad).__name__}; expected a Tensor or None"
                )
            if grad is None:
                values.append(None)
                continue
            grad = grad if form is None else form.gradient_of_elements(grad)
            grad = grad.to_dense() if isinstance(grad, ComposedTensor) else grad
            values.append(value_of(grad))
            if grad.is_complex() and not node.out_specs[index].dtype.is_complex:
                raise RuntimeError(
                    f"Function {self.name()} returned at index {position} a gradient of "
                    f"{grad.dtype!r} for a real input of {node.out_specs[index].dtype!r}; return "
                    "its real part"
                )
            if not sums_to(grad.shape, node.out_specs[index].shape):
                raise RuntimeError(
                    f"Function {self.name()} returned an invalid gradient at index {position} - "
                    f"got {list(grad.shape)} but expected shape compatible with "
                    f"{list(node.out_specs[index].shape)}"
                )
        return values

    def release(self) -> None:
        """Give up what `forward` saved."""
        self._context._release()

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:
        """The tensors that `forward` saved for the backward pass."""
        context = self._context
        before, context._node = context._node, self
        try:
            return context.saved_tensors
        finally:
            context._node = before

    def name(self) -> str:
        """The name of the class, followed by ``Backward``."""
        return f"{self._function.__name__}Backward"


class Function:
    """An operator with a backward pass of your own: subclass it and write `forward` and `backward`.

    Both are static methods and take a context first. `backward` gets one gradient per result and
    returns one gradient (or None) per argument of `forward`. Written with differentiable operators
    it can itself be differentiated.

    Example:
        >>> import oneflow as flow
        >>> class Square(flow.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * grad
        >>> x = flow.tensor([3.0], requires_grad=True)
        >>> Square.apply(x).sum().backward()
        >>> x.grad
        tensor([6.], dtype=oneflow.float32)
    """

    #: `vmap` calls every function for each element, so that it asks for no rule.
    generate_vmap_rule = False
    #: The class of the nodes of its calls, by whose name graphs are read.
    _backward_cls: type[FunctionNode] = FunctionNode

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Make the class of nodes."""
        super().__init_subclass__(**arguments)
        cls._backward_cls = type(f"{cls.__name__}Backward", (FunctionNode,), {"__slots__": ()})

    def __call__(self, *inputs: Any) -> Any:
        """The same as `apply`, on an instance, whose attributes are the context's."""
        if program_name() == PYTORCH:  # which refuses such calls
            name = type(self).__name__
            raise RuntimeError(
                f"Legacy autograd function: call `{name}.apply` in place of `{name}()`"
            )
        return _run(type(self), inputs, vars(self))

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the results from a context and the inputs; to be written by the subclass."""
        raise NotImplementedError("You must implement the forward function for custom Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what backward needs; if a subclass defines it, `forward` takes no context."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(*args: Any, **kwargs: Any) -> Any:
        """Compute the inputs' gradients from the context and the results' gradients."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom Function."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Compute the results' tangents from the context and the inputs', in forward mode.

        The subclass writes it, linear in the tangents and of differentiable operators; without it
        forward mode asks `backward`.
        """
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @classmethod
    def apply(cls, *inputs: Any) -> Any:
        """Run `forward` on `inputs` and record the call."""
        return _run(cls, inputs, {})

    @classmethod
    def _backward(cls) -> Callable:
        if cls.backward is Function.backward:
            return cls.vjp
        if cls.vjp is not Function.vjp:
            raise RuntimeError(
                f"Implementing both 'backward' and 'vjp' for {cls.__name__}, which are two names "
                "of the same, is not allowed: write one of them"
            )
        return cls.backward


def _run(function: type[Function], inputs: tuple, attributes: dict[str, Any]) -> Any:
    """Call a function's `forward` and give its results their place in the autograd graph."""
    values = [unwrap(elements_of(x)) if isinstance(x, Tensor) else None for x in inputs]
    tracked = [
        (position, value)
        for position, value in enumerate(values)
        if value is not None and value.node is not None and MODE.enabled
    ]
    tracked_positions = {position for position, _ in tracked}
    context = FunctionCtx(tuple(position in tracked_positions for position in range(len(inputs))))
    vars(context).update(attributes)
    with no_grad():
        if function.setup_context is Function.setup_context:
            returned = function.forward(context, *inputs)
        else:
            returned = function.forward(*inputs)
            function.setup_context(context, inputs, returned)
    outputs = list(returned) if isinstance(returned, tuple) else [returned]
    _check_dirty(function, context, outputs)
    if tracked:
        _warn_of_dirty_results(context, inputs)
        tracked_outputs = _record(function, context, tracked, inputs, outputs)
    else:
        tracked_outputs = [_distinct(output, inputs, context) for output in outputs]
    return tuple(tracked_outputs) if isinstance(returned, tuple) else tracked_outputs[0]


def _distinct(output: Any, inputs: tuple, context: FunctionCtx) -> Any:
    """Return a result, or another tensor on its memory if it is an unchanged argument."""
    if any(output is tensor for tensor in inputs) and not _contains(output, context._dirty):
        return output.detach() if isinstance(output, Tensor) else output
    return output


def _check_dirty(function: type[Function], context: FunctionCtx, outputs: list[Any]) -> None:
    """Check the tensors that were marked as changed in place.

    Raises:
        RuntimeError: `forward` did not return it, so that its new content has no history.
    """
    if not all(_contains(tensor, outputs) for tensor in context._dirty):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. "
            f"The inputs that {function.__name__} modifies in place must be returned as they are, "
            "and not as their views or copies."
        )


def _warn_of_dirty_results(context: FunctionCtx, inputs: tuple) -> None:
    if not all(_contains(tensor, inputs) for tensor in context._dirty):
        warn_in_place_of_pytorch(
            "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, "
            "there is no need to pass it to mark_dirty()."
        )


def _contains(tensor: Any, tensors: Sequence[Any]) -> bool:
    return any(tensor is member for member in tensors)


def _record(
    function: type[Function],
    context: FunctionCtx,
    tracked: Sequence[tuple[int, Value]],
    inputs: tuple,
    outputs: list[Any],
) -> list[Any]:
    """The results with a node that will run `backward`."""
    node = function._backward_cls(function, context, tracked, inputs, outputs)
    context._save([output for output in outputs if isinstance(output, Tensor)])
    results, index = [], -1
    for position, output in enumerate(outputs):
        if not isinstance(output, Tensor):
            results.append(output)
            continue
        index += 1
        if _contains(output, outputs[:position]) and not _contains(output, context._dirty):
            first = next(at for at, before in enumerate(outputs) if before is output)
            results.append(results[first])
            continue
        value = unwrap(elements_of(output)).alias()
        dtype = value.spec.dtype
        differentiable = dtype.is_floating_point or dtype.is_complex
        if differentiable and not _contains(output, context._without_gradient):
            value.node, value.output_index = node, index
        results.append(_result(output, value, inputs, context))
    return results


def _result(output: Tensor, value: Value, inputs: tuple, context: FunctionCtx) -> Tensor:
    """The tensor that a caller gets for one result; `value` is the result with its history."""
    is_dirty = _contains(output, context._dirty)
    if is_dirty and output.is_leaf and output.requires_grad:
        raise RuntimeError(
            "a leaf Variable that requires grad has been used in an in-place operation."
        )
    if isinstance(output, ComposedTensor):
        values = wrap(value)
        return output.put_values(values) if is_dirty else output.with_values(values)
    if not is_dirty:
        result = wrap(value)
        return view_of_all(result, output) if _contains(output, inputs) else result
    with enable_grad():
        return write(output, value)


class InplaceFunction(Function):
    """PyTorch's base of operators that may write to their inputs, which every `Function` may."""

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace


class _OnceDifferentiable(Node):
    """The node behind results of a backward pass that cannot be differentiated."""

    __slots__ = ()

    def apply(self, grads: list) -> list:
        """Refuse."""
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )

    def name(self) -> str:
        """The name shown to users, ``once_differentiable``."""
        return "once_differentiable"


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a `backward` that cannot be differentiated again: trying to is then an error."""

    @functools.wraps(backward)
    def guarded(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            results = backward(ctx, *grads)
        recorded = any(isinstance(grad, Tensor) and grad.requires_grad for grad in grads)
        if not MODE.enabled or not recorded:
            return results
        as_tuple = results if isinstance(results, tuple) else (results,)
        guarded_results = tuple([_raise_on_second_backward(result) for result in as_tuple])
        return guarded_results if isinstance(results, tuple) else guarded_results[0]

    return guarded


def _raise_on_second_backward(result: Any) -> Any:
    """A gradient whose own gradient is an error."""
    if not isinstance(result, Tensor):
        return result
    value = unwrap(result).alias()
    value.node = _OnceDifferentiable((), (value.spec,))
    return wrap(value)
