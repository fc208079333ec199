"""Jacobians, Hessians and their products with vectors, by repeated backward passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneflow.autograd.gradients import grad
from oneflow.differentiation.grad_mode import differentiating
from oneflow.functional.shape.concat import stack
from oneflow.primitives.operators.creation import zeros
from oneflow.primitives.operators.elementwise import zeros_like
from oneflow.primitives.operators.shape import reshape
from oneflow.tensor.call import call, wrap
from oneflow.tensor.tensor import Tensor

Inputs = Tensor | tuple[Tensor, ...]


def _tuple(tensors: Any, what: str, function: str) -> tuple[Tensor, ...]:
    """One tensor or several as a tuple.

    Raises:
        TypeError: something else.
    """
    as_tuple = tuple(tensors) if isinstance(tensors, tuple | list) else (tensors,)
    for position, tensor in enumerate(as_tuple):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but "
                f"the value at index {position} has type {type(tensor).__name__}."
            )
    return as_tuple


def _like(results: Sequence[Any], like: Any) -> Any:
    """Results in the form of what the user gave: a tuple for a tuple, else the only one."""
    return tuple(results) if isinstance(like, tuple | list) else results[0]


def _prepared(inputs: Any, create_graph: bool, function: str) -> tuple[Tensor, ...]:
    """Copies of the inputs that require gradients, apart from the user's tensors."""
    prepared = []
    for tensor in _tuple(inputs, "inputs", function):
        if create_graph and tensor.requires_grad:
            prepared.append(call(reshape, tensor, shape=tuple(tensor.shape)))
        else:
            prepared.append(tensor.detach().requires_grad_())
    return tuple(prepared)


def _finished(results: Sequence[Tensor], create_graph: bool) -> tuple[Tensor, ...]:
    return tuple(results) if create_graph else tuple(result.detach() for result in results)


def _filled(
    grads: Sequence[Tensor | None],
    like: Sequence[Tensor],
    create_graph: bool,
    strict: bool,
    what: str,
) -> tuple[Tensor, ...]:
    """Zeros for missing gradients.

    Raises:
        RuntimeError: `strict` forbids that one is missing, or depends on nothing if results are to
            be differentiable.
    """
    for position, gradient in enumerate(grads if strict else ()):
        if gradient is None:
            raise RuntimeError(f"{what} is independent of input {position}, as `strict` forbids.")
        if create_graph and not gradient.requires_grad:
            raise RuntimeError(
                f"The derivative of the user function by input {position} is constant, as `strict` "
                "forbids with `create_graph`."
            )
    return tuple(
        call(zeros_like, reference.detach()) if gradient is None else gradient
        for gradient, reference in zip(grads, like, strict=True)
    )


def _check_vector(v: Any, like: Sequence[Tensor], what: str, function: str) -> tuple[Tensor, ...]:
    """The vector of a product, one tensor per `like`; None stands for 1 if there is one element.

    Raises:
        RuntimeError: it is missing, or its shapes are not those of `like`.
    """
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if the {what} of the function given to {function} "
                "has a single element."
            )
        return (call(zeros_like, like[0].detach()) + 1,)
    vector = _tuple(v, "vector v", function)
    if len(vector) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(vector)}."
        )
    for position, (entry, reference) in enumerate(zip(vector, like, strict=True)):
        if entry.shape != reference.shape:
            raise RuntimeError(
                f"Entry {position} in v has invalid size: should be {tuple(reference.shape)} but "
                f"got {tuple(entry.shape)}."
            )
    return vector


def jacobian(
    func: Callable[..., Any],
    inputs: Inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """All first derivatives of a function.

    Args:
        func: takes tensors, returns one tensor or a tuple.
        inputs: where to differentiate, one tensor or a tuple.
        create_graph: make the result differentiable.
        strict: an output that does not depend on an input is an error, not zeros; so is, with
            `create_graph`, a derivative that depends on none.
        vectorize: accepted for PyTorch's sake.
        strategy: accepted for PyTorch's sake.

    Returns:
        A tensor of shape ``output shape + input shape``; nested in tuples over outputs and inputs
        where these are tuples.

    Example:
        >>> import oneflow as flow
        >>> flow.autograd.functional.jacobian(lambda x: x * x, flow.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]], dtype=oneflow.float32)
    """
    with differentiating():
        points = _prepared(inputs, create_graph, "jacobian")
        outputs = func(*points)
        blocks = [
            _like(_jacobian_of(output, points, create_graph, strict), inputs)
            for output in _tuple(outputs, "outputs of the user function", "jacobian")
        ]
    return _like(blocks, outputs)


def _jacobian_of(
    output: Tensor, points: Sequence[Tensor], create_graph: bool, strict: bool
) -> tuple[Tensor, ...]:
    """The Jacobian of one output with respect to each input."""
    rows = []
    flat = output.reshape(-1)
    for index in range(flat.numel()):
        row: Sequence[Tensor | None] = [None] * len(points)
        if flat.requires_grad:
            row = grad(flat[index], points, None, True, create_graph, allow_unused=True)
        rows.append(_filled(row, points, create_graph, strict, "An output of the user function"))
    blocks = []
    for position, point in enumerate(points):
        shape = (*output.shape, *point.shape)
        if rows:
            block = stack([row[position] for row in rows]).reshape(shape)
        else:
            spec = point._value.spec
            block = wrap(zeros(shape=shape, dtype=spec.dtype, device=spec.device))
        blocks.append(block)
    return _finished(blocks, create_graph)


def hessian(
    func: Callable[..., Any],
    inputs: Inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """All second derivatives of a function with one number as result.

    Args:
        func: takes tensors, returns a tensor of one element.
        inputs: where to differentiate, one tensor or a tuple.
        create_graph: make the result differentiable.
        strict: a derivative that does not depend on an input is an error, not zeros; so is, with
            `create_graph`, a second derivative that depends on none.
        vectorize: accepted for PyTorch's sake.
        outer_jacobian_strategy: accepted for PyTorch's sake.

    Returns:
        A tensor of shape ``input shape + input shape``; a tuple of tuples if `inputs` is a tuple.

    Example:
        >>> import oneflow as flow
        >>> flow.autograd.functional.hessian(lambda x: (x**3).sum(), flow.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]], dtype=oneflow.float32)
    """

    def single(*points: Tensor) -> Tensor:
        return _single(func(*points), "hessian")

    def slopes(*points: Tensor) -> Any:
        arguments = points if isinstance(inputs, tuple | list) else points[0]
        rows = jacobian(single, arguments, create_graph=True, strict=strict)
        if not isinstance(rows, tuple):
            return rows.reshape(points[0].shape)
        return tuple(row.reshape(point.shape) for row, point in zip(rows, points, strict=True))

    return jacobian(slopes, inputs, create_graph, strict)


def _single(output: Any, function: str) -> Tensor:
    """A function's result, which has one element.

    Raises:
        TypeError: the result is, or holds, something other than tensors.
        RuntimeError: there are several.
    """
    _tuple(output, "outputs of the user function", function)
    if not isinstance(output, Tensor) or output.numel() != 1:
        raise RuntimeError(
            f"The function given to {function} should return a single Tensor of a single element"
        )
    return output


def vjp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """A vector times the Jacobian of a function.

    Args:
        func: takes tensors, returns one tensor or a tuple.
        inputs: where to differentiate, one tensor or a tuple.
        v: the vector, in the form of the results; may be left out for a single element.
        create_graph: make the result differentiable.
        strict: a result that does not depend on an input is an error, not zeros; so is, with
            `create_graph`, a derivative that depends on none.

    Returns:
        The function's results, and the product in the form of `inputs`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([1.0, 2.0])
        >>> flow.autograd.functional.vjp(lambda x: x * x, x, flow.tensor([1.0, 10.0]))[1]
        tensor([ 2., 40.], dtype=oneflow.float32)
    """
    with differentiating():
        points = _prepared(inputs, create_graph, "vjp")
        outputs = func(*points)
        as_tuple = _tuple(outputs, "outputs of the user function", "vjp")
        vector = _check_vector(v, as_tuple, "output", "vjp")
        product = _product(as_tuple, points, vector, create_graph, strict)
    return _like(_finished(as_tuple, create_graph), outputs), _like(
        _finished(product, create_graph), inputs
    )


def _product(
    outputs: Sequence[Tensor],
    points: Sequence[Tensor],
    vector: Sequence[Tensor],
    create_graph: bool,
    strict: bool,
) -> tuple[Tensor, ...]:
    """Gradients of `outputs`, weighted by `vector`, with zeros where nothing depends."""
    for position, output in enumerate(outputs if strict else ()):
        if not output.requires_grad:
            raise RuntimeError(
                f"Output {position} of the user function depends on no input, as `strict` forbids."
            )
    used = [pair for pair in zip(outputs, vector, strict=True) if pair[0].requires_grad]
    grads: Sequence[Tensor | None] = [None] * len(points)
    if used:
        grads = grad(
            [output for output, _ in used], points, [w for _, w in used], None, create_graph, True
        )
    return _filled(grads, points, create_graph, strict, "The result of the user function")


def jvp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The Jacobian of a function times a vector.

    Args:
        func: takes tensors, returns one tensor or a tuple.
        inputs: where to differentiate, one tensor or a tuple.
        v: the vector, in the form of `inputs`; may be left out for a single element.
        create_graph: make the result differentiable.
        strict: a result that does not depend on an input is an error, not zeros; so is, with
            `create_graph`, a derivative that depends on none.

    Returns:
        The function's results, and the product in their form.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([1.0, 2.0])
        >>> flow.autograd.functional.jvp(lambda x: x * x, x, flow.tensor([1.0, 10.0]))[1]
        tensor([ 2., 40.], dtype=oneflow.float32)
    """
    with differentiating():
        points = _prepared(inputs, create_graph, "jvp")
        vector = _check_vector(v, points, "input", "jvp")
        outputs = func(*points)
        as_tuple = _tuple(outputs, "outputs of the user function", "jvp")
        # The gradient is linear in the weights of the outputs; its gradient is the product.
        weights = [call(zeros_like, output.detach()).requires_grad_() for output in as_tuple]
        slopes = _product(as_tuple, points, weights, True, strict)
        product = _product(slopes, weights, vector, create_graph, strict)
    return _like(_finished(as_tuple, create_graph), outputs), _like(
        _finished(product, create_graph), outputs
    )


def vhp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, Any]:
    """A vector times the Hessian of a function with one number as result.

    Args:
        func: takes tensors, returns a tensor of one element.
        inputs: where to differentiate, one tensor or a tuple.
        v: the vector, in the form of `inputs`; may be left out for a single element.
        create_graph: make the result differentiable.
        strict: a derivative that does not depend on an input is an error, not zeros; so is, with
            `create_graph`, a second derivative that depends on none.

    Returns:
        The function's result, and the product in the form of `inputs`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([1.0, 2.0])
        >>> flow.autograd.functional.vhp(lambda x: (x**3).sum(), x, flow.ones(2))[1]
        tensor([ 6., 12.], dtype=oneflow.float32)
    """
    with differentiating():
        points = _prepared(inputs, create_graph, "vhp")
        vector = _check_vector(v, points, "input", "vhp")
        output = _single(func(*points), "vhp")
        one = (call(zeros_like, output.detach()) + 1,)
        slopes = _product([output], points, one, True, strict)
        product = _product(slopes, points, vector, create_graph, strict)
    return _finished([output], create_graph)[0], _like(_finished(product, create_graph), inputs)


def hvp(
    func: Callable[..., Any],
    inputs: Inputs,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, Any]:
    """The Hessian of a function with one number as result times a vector: `vhp`, it is symmetric.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([1.0, 2.0])
        >>> flow.autograd.functional.hvp(lambda x: (x**3).sum(), x, flow.ones(2))[1]
        tensor([ 6., 12.], dtype=oneflow.float32)
    """
    return vhp(func, inputs, v, create_graph, strict)
