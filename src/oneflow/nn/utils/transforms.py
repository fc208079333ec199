"""Functions made of functions: their derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from oneflow.autograd.gradients import derivatives, optional_derivatives
from oneflow.differentiation.grad_mode import MODE
from oneflow.differentiation.node import new_hook_owner
from oneflow.differentiation.variables import ArgumentNode, has_leaf, transforming
from oneflow.functional.shape.concat import stack
from oneflow.graph.pytree import tree_unflatten
from oneflow.nn.utils.transform_checks import (
    Argnums,
    check_argnums,
    check_form,
    check_primals,
    flat,
    outputs_of,
    value_and_aux,
)
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


def unflat(structure: Any, tensors: Sequence[Tensor]) -> Any:
    """The tree of a structure and its tensors."""
    return tree_unflatten(structure, iter(tensors))


class Variables:
    """Arguments of a function as tensors that require gradients.

    Attributes:
        tensors: the tensors of the chosen arguments.
        structure: the form of those arguments.
    """

    def __init__(self, args: tuple, argnums: Argnums, name: str, hooks: bool = True) -> None:
        self.name, self._hooks = name, hooks
        self._recorded = MODE.enabled
        self._owner = new_hook_owner()
        self._nodes: list[ArgumentNode] = []
        selected = args[argnums] if isinstance(argnums, int) else tuple(args[n] for n in argnums)
        inputs, self.structure = flat(selected, name)
        with self.transforming():
            self.tensors = [self.variable(tensor) for tensor in inputs]
        changed = self.in_form(self.tensors)
        self.args = list(args)
        pairs = (
            {argnums: changed}
            if isinstance(argnums, int)
            else dict(zip(argnums, changed, strict=True))
        )
        for position, value in pairs.items():
            self.args[position] = value

    def transforming(self) -> AbstractContextManager[None]:
        """A context for the function, and for passes for its derivatives."""
        return transforming(self._owner)

    def variable(self, tensor: Tensor) -> Tensor:
        """A leaf with the value of a tensor."""
        leaf = tensor.detach().requires_grad_()
        node = ArgumentNode(leaf, unwrap(tensor), self._recorded)
        leaf._value.node = node
        self._nodes.append(node)
        return leaf

    def is_dependent(self, output: Tensor) -> bool:
        """Test if an output depends on a variable."""
        if not output.requires_grad or not self.tensors:
            return False
        slopes = optional_derivatives(
            [output], self.tensors, [output.detach()], hooks=self._hooks, create_graph=False
        )
        return any(slope is not None for slope in slopes)

    def in_form(self, tensors: Sequence[Tensor]) -> Any:
        """Tensors in the form of the chosen arguments."""
        return unflat(self.structure, tensors)

    def gradients(
        self, outputs: Sequence[Tensor], weights: Sequence[Tensor | None]
    ) -> list[Tensor]:
        """Gradients of weighted outputs, zeros where they do not depend on a variable."""
        return derivatives(outputs, self.tensors, weights, hooks=self._hooks)

    def enable(self) -> None:
        """Allow derivatives again after `finished`."""
        for node in self._nodes:
            node.open = True

    def finished(self, tree: Any) -> Any:
        """A result, with the history that goes beyond the variables where the caller records."""
        recorded = MODE.enabled
        tensors, structure = flat(tree, self.name)
        for node in self._nodes:
            node.open = False
        dead: set = set()
        return unflat(structure, [_finished(tensor, recorded, dead) for tensor in tensors])


def _finished(tensor: Tensor, recorded: bool, dead: set) -> Tensor:
    node = unwrap(tensor).node
    if node is None:
        return tensor
    if not recorded or not has_leaf(node, dead):
        return tensor.detach()
    return tensor.view_as(tensor) if isinstance(node, ArgumentNode) else tensor


def grad_and_value(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function of the same arguments that returns `grad` and the value of `func`.

    Args:
        func: returns a tensor with one element, or with `has_aux` that and something else.
        argnums: by which arguments to differentiate: tensors, or structures of tensors.
        has_aux: whether there is something else; it is returned as ``(value, aux)``.

    Example:
        >>> import oneflow as flow
        >>> flow.func.grad_and_value(lambda x: x * x)(flow.tensor(3.0))
        (tensor(6., dtype=oneflow.float32), tensor(9., dtype=oneflow.float32))
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        check_argnums(argnums, len(args), "func.grad")
        variables = Variables(args, argnums, "func.grad")
        with variables.transforming():
            result = func(*variables.args, **kwargs)
            output, _ = value_and_aux(result, has_aux, "func.grad")
            if not isinstance(output, Tensor) or output.numel() != 1 or output.ndim:
                raise RuntimeError(
                    "func.grad: expected the function to return a tensor with no dimensions, "
                    f"got {getattr(output, 'shape', type(output).__name__)}"
                )
            grads = variables.in_form(variables.gradients([output], [None]))
        return variables.finished(grads), variables.finished(result)

    return wrapper


def grad(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return the gradient of a function as a function of the same arguments.

    Args:
        func: returns a tensor without dimensions, or with `has_aux` that and something else.
        argnums: by which arguments to differentiate: tensors, or structures of tensors.
        has_aux: return ``(gradient, aux)``.

    Raises:
        RuntimeError: (when called) `func` returns something else, or has no such arguments.

    Example:
        >>> import oneflow as flow
        >>> flow.func.grad(flow.func.grad(lambda x: x**3))(flow.tensor(2.0))
        tensor(12., dtype=oneflow.float32)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return gradient


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return a function's value, and a function from its cotangent to cotangents of `primals`.

    Args:
        func: returns a tensor or a structure of tensors, or with `has_aux` that and something else.
        primals: arguments: tensors, or structures of tensors.
        has_aux: return something else, too.

    Returns:
        ``(value, function)`` or ``(value, function, aux)``; the function takes what has the form of
        the value and returns a tuple with a gradient for each argument.

    Example:
        >>> import oneflow as flow
        >>> value, backward = flow.func.vjp(lambda x: x * x, flow.tensor([1.0, 3.0]))
        >>> backward(flow.ones(2))
        (tensor([2., 6.], dtype=oneflow.float32),)
    """
    variables = Variables(primals, tuple(range(len(primals))), "func.vjp")
    with variables.transforming():
        result = func(*variables.args)
    value, aux = value_and_aux(result, has_aux, "func.vjp")
    outputs, structure = outputs_of(value, "func.vjp")

    def backward(cotangents: Any) -> tuple:
        weights = check_form(cotangents, structure, "func.vjp", "value and gradient")
        with variables.transforming():
            grads = variables.in_form(variables.gradients(outputs, weights))
        return variables.finished(grads)

    finished = variables.finished(value)
    return (finished, backward, variables.finished(aux)) if has_aux else (finished, backward)


class TangentMap:
    """The change of the value of a function with its variables.

    The gradient of a weighted value is linear in the weights; its own gradient is the change.
    """

    def __init__(self, variables: Variables, value: Any) -> None:
        self._variables = variables
        outputs, self._structure = outputs_of(value, variables.name)
        self._weights = [
            variables.variable(output.detach().new_zeros(output.shape)) for output in outputs
        ]
        self._slopes = variables.gradients(outputs, self._weights)

    def __call__(self, tangents: Any) -> Any:
        """The change of the value, in its form, if the variables change by `tangents`."""
        directions, _ = flat(tangents, self._variables.name)
        changes = derivatives(self._slopes, self._weights, directions, hooks=False)
        return unflat(self._structure, changes)


def jvp(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """Call a function, and return its value and how it changes if the arguments change.

    Computed by two backward passes.

    Args:
        func: returns a tensor or a structure of tensors, or with `has_aux` that and something else.
        primals: the arguments: tensors, or structures of tensors.
        tangents: their changes, in the same form.
        strict: a value that depends on no argument is an error; its tangent is 0 otherwise.
        has_aux: return something else, too.

    Returns:
        ``(value, change)`` or ``(value, change, aux)``.

    Example:
        >>> import oneflow as flow
        >>> flow.func.jvp(lambda x: x * x, (flow.tensor(3.0),), (flow.tensor(1.0),))[1]
        tensor(6., dtype=oneflow.float32)
    """
    check_primals(primals)
    variables = Variables(primals, tuple(range(len(primals))), "func.jvp", hooks=False)
    check_form(tangents, variables.structure, "func.jvp", "arguments and tangents")
    with variables.transforming():
        result = func(*variables.args)
        value, aux = value_and_aux(result, has_aux, "func.jvp")
        if strict:
            _check_dependent(value, variables)
        change = TangentMap(variables, value)(tangents)
    results = (variables.finished(value), variables.finished(change))
    return (*results, variables.finished(aux)) if has_aux else results


def _check_dependent(value: Any, variables: Variables) -> None:
    for output in flat(value, "func.jvp")[0]:
        if not variables.is_dependent(output):
            raise RuntimeError(
                "func.jvp: a value of the function depends on no argument, as `strict` forbids"
            )


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the value of a function, and its Jacobian-vector product there as a function.

    Args:
        func: returns a tensor or a structure of tensors.
        primals: the arguments: tensors, or structures of tensors.

    Returns:
        The value, and a function that takes one tangent for each argument.

    Example:
        >>> import oneflow as flow
        >>> value, f_jvp = flow.func.linearize(lambda x: x * x, flow.tensor(3.0))
        >>> f_jvp(flow.tensor(1.0))
        tensor(6., dtype=oneflow.float32)
    """
    variables = Variables(primals, tuple(range(len(primals))), "func.linearize", hooks=False)
    with variables.transforming():
        value = func(*variables.args)
        linear_map = TangentMap(variables, value)

    def f_jvp(*tangents: Any) -> Any:
        check_form(tangents, variables.structure, "func.linearize", "arguments and tangents")
        with variables.transforming():
            change = linear_map(tangents)
        return variables.finished(change)

    return variables.finished(value), f_jvp


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
    randomness: str = "error",
) -> Callable[..., Any]:
    """Return the Jacobian of a function as a function of the same arguments.

    Args:
        func: returns a tensor or a structure of tensors, or with `has_aux` that and something else.
        argnums: by which arguments to differentiate: tensors, or structures of tensors.
        has_aux: return ``(jacobian, aux)``.
        chunk_size: accepted; there is a backward pass for each element anyway.
        randomness: accepted; `func` is called once.

    Returns:
        A function; its result has the form of the value, and in place of each tensor the form of
        the arguments, with tensors of ``output.shape + input.shape``.

    Raises:
        ValueError: `chunk_size` is not positive.

    Example:
        >>> import oneflow as flow
        >>> flow.func.jacrev(lambda x: x * x)(flow.tensor([1.0, 3.0])).tolist()
        [[2.0, 0.0], [0.0, 6.0]]
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"jacrev: `chunk_size` must be None or positive, got {chunk_size}")
    return _jacobian(func, argnums, has_aux, "func.jacrev")


def jacfwd(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """Return the Jacobian of a function as `jacrev` does; hooks inside the function do not run.

    Args:
        func: returns a tensor or a structure of tensors, or with `has_aux` that and something else.
        argnums: by which arguments to differentiate: tensors, or structures of tensors.
        has_aux: return ``(jacobian, aux)``.
        randomness: accepted; `func` is called once.

    Example:
        >>> import oneflow as flow
        >>> flow.func.jacfwd(lambda x: x * x)(flow.tensor([1.0, 3.0])).tolist()
        [[2.0, 0.0], [0.0, 6.0]]
    """
    return _jacobian(func, argnums, has_aux, "func.jacfwd", hooks=False)


def _jacobian(
    func: Callable[..., Any], argnums: Argnums, has_aux: bool, name: str, hooks: bool = True
) -> Callable[..., Any]:
    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        check_argnums(argnums, len(args), name)
        variables = Variables(args, argnums, name, hooks)
        with variables.transforming():
            result = func(*variables.args, **kwargs)
            value, aux = value_and_aux(result, has_aux, name)
            outputs, structure = outputs_of(value, name)
            matrices = [variables.in_form(_jacobian_of(output, variables)) for output in outputs]
        slopes = variables.finished(unflat(structure, matrices))
        return (slopes, variables.finished(aux)) if has_aux else slopes

    return jacobian


def _jacobian_of(output: Tensor, variables: Variables) -> list[Tensor]:
    rows = [variables.gradients([element], [None]) for element in output.reshape(-1)]
    return [
        stack([row[number] for row in rows]).reshape((*output.shape, *variable.shape))
        if rows
        else variable.new_zeros((*output.shape, *variable.shape))
        for number, variable in enumerate(variables.tensors)
    ]


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return the matrix of second derivatives of a function as a function of the same arguments.

    Args:
        func: returns a tensor.
        argnums: by which arguments to differentiate.

    Example:
        >>> import oneflow as flow
        >>> flow.func.hessian(lambda x: (x**3).sum())(flow.tensor([1.0, 2.0])).tolist()
        [[6.0, 0.0], [0.0, 12.0]]
    """
    return jacfwd(jacrev(func, argnums), argnums)
