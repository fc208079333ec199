"""Functions made of functions: their derivatives, and what maps them over a batch."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from oneflow.autograd.gradients import grad as gradients
from oneflow.differentiation.grad_mode import enable_grad
from oneflow.functional.shape.concat import stack
from oneflow.graph.pytree import tree_flatten, tree_unflatten
from oneflow.tensor.tensor import Tensor

Argnums = int | tuple[int, ...]


class _Depth(threading.local):
    """The number of transformed functions that run inside each other in this thread."""

    count = 0


_DEPTH = _Depth()


@contextlib.contextmanager
def _nested() -> Iterator[None]:
    _DEPTH.count += 1
    try:
        with enable_grad():
            yield
    finally:
        _DEPTH.count -= 1


def _flat(tree: Any, where: str) -> tuple[list[Tensor], Any]:
    tensors: list[Tensor] = []
    return tensors, tree_flatten(tree, tensors, where)


def _unflat(structure: Any, tensors: Sequence[Tensor]) -> Any:
    return tree_unflatten(structure, iter(tensors))


class _Variables:
    """Arguments of a function in the form in which gradients can be asked for.

    Attributes:
        tensors: those of the chosen arguments.
    """

    def __init__(self, args: tuple, argnums: Argnums, name: str) -> None:
        self.name = name
        chosen = args[argnums] if isinstance(argnums, int) else tuple(args[n] for n in argnums)
        given, self._structure = _flat(chosen, name)
        # Results are parts of a larger calculation if the arguments are.
        self._is_outermost = not (_DEPTH.count or any(each.requires_grad for each in given))
        self.tensors = [
            each.view_as(each) if each.requires_grad else each.detach().requires_grad_()
            for each in given
        ]
        changed = self.in_form(self.tensors)
        self.args = list(args)
        pairs = (
            {argnums: changed}
            if isinstance(argnums, int)
            else dict(zip(argnums, changed, strict=True))
        )
        for position, value in pairs.items():
            self.args[position] = value

    def in_form(self, tensors: Sequence[Tensor]) -> Any:
        """Tensors in the form of the chosen arguments."""
        return _unflat(self._structure, tensors)

    def gradients(self, output: Tensor, weights: Tensor | None = None) -> list[Tensor]:
        """Gradients of an output, zeros where it does not depend on a variable."""
        if not output.requires_grad:
            return [each.new_zeros(each.shape) for each in self.tensors]
        found = gradients(
            output,
            self.tensors,
            weights,
            retain_graph=True,
            create_graph=True,
            materialize_grads=True,
        )
        return [each for each in found if each is not None]

    def finished(self, tree: Any) -> Any:
        """A result, without history if no calculation goes on with it."""
        if not self._is_outermost:
            return tree
        tensors, structure = _flat(tree, self.name)
        return _unflat(structure, [each.detach() for each in tensors])


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
        variables = _Variables(args, argnums, "func.grad")
        with _nested():
            result = func(*variables.args, **kwargs)
            output = result[0] if has_aux else result
            if not isinstance(output, Tensor) or output.numel() != 1 or output.ndim:
                raise RuntimeError(
                    "func.grad: expected the function to return a tensor with no dimensions, "
                    f"got {getattr(output, 'shape', type(output).__name__)}"
                )
            found = variables.in_form(variables.gradients(output))
        return variables.finished(found), variables.finished(result)

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
        RuntimeError: (when called) `func` returns something else.

    Example:
        >>> import oneflow as flow
        >>> flow.func.grad(flow.func.grad(lambda x: x**3))(flow.tensor(2.0))
        tensor(12., dtype=oneflow.float32)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Call a function, and return its value and a function from its gradient to those of `primals`.

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
    variables = _Variables(primals, tuple(range(len(primals))), "func.vjp")
    with _nested():
        result = func(*variables.args)
    value = result[0] if has_aux else result
    outputs, _ = _flat(value, "func.vjp")

    def backward(cotangents: Any) -> tuple:
        weights, _ = _flat(cotangents, "func.vjp")
        with _nested():
            found = variables.in_form(variables.gradients(_inner(outputs, weights)))
        return variables.finished(found)

    finished = variables.finished(value)
    return (finished, backward, variables.finished(result[1])) if has_aux else (finished, backward)


def _inner(tensors: Sequence[Tensor], others: Sequence[Tensor]) -> Tensor:
    """The sum of all products of elements."""
    products = [(one * other).sum() for one, other in zip(tensors, others, strict=True)]
    return stack(products).sum()


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
    variables = _Variables(primals, tuple(range(len(primals))), "func.jvp")
    directions, _ = _flat(tangents, "func.jvp")
    with _nested():
        result = func(*variables.args)
        outputs, structure = _flat(result[0] if has_aux else result, "func.jvp")
        changes = []
        for output in outputs:
            if strict and not output.requires_grad:
                raise RuntimeError(
                    "func.jvp: a value of the function depends on no argument, as `strict` forbids"
                )
            weight = output.detach() * 0
            weight.requires_grad_()
            found = variables.gradients(output, weight)
            total = _inner(found, directions)
            changes.append(weight * 0)
            if total.requires_grad:
                (changes[-1],) = gradients(
                    total, (weight,), create_graph=True, materialize_grads=True
                )
        change = _unflat(structure, changes)
    value = _unflat(structure, outputs)
    found = (variables.finished(value), variables.finished(change))
    return (*found, variables.finished(result[1])) if has_aux else found


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

    def f_jvp(*tangents: Any) -> Any:
        return jvp(func, primals, tangents)[1]

    return func(*primals), f_jvp


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
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

    Example:
        >>> import oneflow as flow
        >>> flow.func.jacrev(lambda x: x * x)(flow.tensor([1.0, 3.0])).tolist()
        [[2.0, 0.0], [0.0, 6.0]]
    """

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        variables = _Variables(args, argnums, "func.jacrev")
        with _nested():
            result = func(*variables.args, **kwargs)
            outputs, structure = _flat(result[0] if has_aux else result, "func.jacrev")
            found = [variables.in_form(_jacobian_of(each, variables)) for each in outputs]
        value = variables.finished(_unflat(structure, found))
        return (value, variables.finished(result[1])) if has_aux else value

    return jacobian


def _jacobian_of(output: Tensor, variables: _Variables) -> list[Tensor]:
    rows = [variables.gradients(each) for each in output.reshape(-1)]
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
    return jacrev(jacrev(func, argnums), argnums)


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that calls `func` for each element of a batch and stacks the results.

    The calls are recorded one after the other and run as one program.

    Args:
        func: takes and returns tensors or structures of tensors.
        in_dims: the dimension of the batch in all arguments, or one for each; None: the argument
            is the same for all.
        out_dims: where the dimension goes in all results, or one for each.
        randomness: ``"error"`` or ``"different"``: each call draws its own random numbers.
        chunk_size: accepted; the calls are separate anyway.

    Raises:
        NotImplementedError: a `randomness` of ``"same"``.
        ValueError: another one; (when called) no argument has a batch, or their sizes differ.

    Example:
        >>> import oneflow as flow
        >>> flow.func.vmap(flow.dot)(flow.ones(3, 2), flow.ones(3, 2))
        tensor([2., 2., 2.], dtype=oneflow.float32)
    """
    if randomness == "same":
        raise NotImplementedError("vmap: `randomness` of 'same' is not implemented")
    if randomness not in ("error", "different"):
        raise ValueError(
            f"vmap: `randomness` must be 'error', 'different' or 'same', got {randomness!r}"
        )

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        dims = in_dims if isinstance(in_dims, tuple | list) else (in_dims,) * len(args)
        flat = [_flat(each, "func.vmap") for each in args]
        sizes = {
            tensor.shape[dim]
            for (tensors, _), dim in zip(flat, dims, strict=True)
            if dim is not None
            for tensor in tensors
        }
        if len(sizes) != 1:
            raise ValueError(
                f"vmap: expected all mapped tensors to have one size, got {sorted(sizes)}"
            )
        results = []
        for number in range(sizes.pop()):
            chosen = [
                _unflat(s, tensors if dim is None else [t.select(dim, number) for t in tensors])
                for (tensors, s), dim in zip(flat, dims, strict=True)
            ]
            results.append(_flat(func(*chosen, **kwargs), "func.vmap"))
        count = len(results[0][0])
        places = out_dims if isinstance(out_dims, tuple | list) else (out_dims,) * count
        columns = zip(*(tensors for tensors, _ in results), strict=True)
        stacked = [stack(each, dim) for each, dim in zip(columns, places, strict=True)]
        return _unflat(results[0][1], stacked)

    return mapped
