"""`backward` and `grad`: gradients of tensors with respect to tensors."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from oneflow.autograd.gradient_edge import GradientEdge
from oneflow.base.composed_operand import ComposedOperandError
from oneflow.base.flags import as_flag, reject_strings
from oneflow.base.program_name import PYTORCH, program_name
from oneflow.base.shape import Size
from oneflow.base.spec import TensorSpec
from oneflow.differentiation.backward import Edge, backward_pass
from oneflow.differentiation.grad_mode import tangent_passes
from oneflow.differentiation.hooks import SUMS, TRANSFORMS
from oneflow.functional.creation.factory_functions import ones_like
from oneflow.functional.shape.concat import stack
from oneflow.primitives.operators.creation import ones
from oneflow.primitives.operators.shape import zeros_of
from oneflow.program.value import Value, ValueOfClass
from oneflow.tensor.call import wrap
from oneflow.tensor.composed import ComposedTensor, elements_of
from oneflow.tensor.methods import attach_method
from oneflow.tensor.tensor import Tensor, value_of
from oneflow.tensor.views import unwrap

TensorOrEdge = Tensor | GradientEdge
Tensors = TensorOrEdge | Sequence[TensorOrEdge]
OptionalTensors = Tensor | Sequence[Tensor | None] | None


class _InitialGradient(threading.local):
    """The function applied to the gradients that `backward` starts with, per thread."""

    change: Callable[[Value], Value] | None = None


_INITIAL_GRADIENT = _InitialGradient()


@contextlib.contextmanager
def initial_gradient_transform(change: Callable[[Value], Value]) -> Iterator[None]:
    """Context manager: `backward` inside starts with ``change(gradient)``; `grad` does not."""
    before, _INITIAL_GRADIENT.change = _INITIAL_GRADIENT.change, change
    try:
        yield
    finally:
        _INITIAL_GRADIENT.change = before


def _as_list(tensors: Any, name: str) -> list[TensorOrEdge]:
    """One tensor or several as a list; edges stand for tensors.

    Raises:
        TypeError: something that is not a tensor.
    """
    as_list = [tensors] if isinstance(tensors, Tensor | GradientEdge) else list(tensors)
    for tensor in as_list:
        if not isinstance(tensor, Tensor | GradientEdge):
            raise TypeError(f"`{name}` must be tensors, got {type(tensor).__name__}")
    return as_list


def _edge_and_spec(tensor: TensorOrEdge) -> tuple[Edge | None, TensorSpec]:
    """The place at which the gradient of a tensor arrives, None without one; and its spec."""
    if isinstance(tensor, GradientEdge):
        return (tensor.node, tensor.output_nr), tensor.spec
    value = unwrap(tensor)
    return None if value.node is None else (value.node, value.output_index), value.spec


def _roots(outputs: list[TensorOrEdge], grads: OptionalTensors) -> list[tuple[Edge, Value]]:
    """The edges at which a backward pass starts, with their gradients.

    Raises:
        RuntimeError: an output without history, or gradients that do not fit the outputs.
    """
    gradients = (
        [grads] * len(outputs) if grads is None or isinstance(grads, Tensor) else list(grads)
    )
    if len(gradients) != len(outputs) or (isinstance(grads, Tensor) and len(outputs) != 1):
        count = 1 if isinstance(grads, Tensor) else len(gradients)
        raise RuntimeError(f"got {len(outputs)} tensors and {count} gradients")
    roots: list[tuple[Edge, Value]] = []
    ones_of_spec: dict[TensorSpec, Value] = {}
    for index, (output, grad) in enumerate(zip(outputs, gradients, strict=True)):
        edge, spec = _edge_and_spec(output)
        if edge is None:
            raise RuntimeError(
                f"element {index} of tensors does not require grad and does not have a grad_fn"
            )
        roots.append((edge, _initial_gradient(output, spec, grad, index, ones_of_spec)))
    return roots


def _elements(tensors: Any) -> Any:
    """Tensors, with composed tensors replaced by the tensors of their elements."""
    if isinstance(tensors, GradientEdge):
        return tensors
    if isinstance(tensors, Sequence):
        return [_elements(tensor) for tensor in tensors]
    return elements_of(tensors)


def _initial_gradient(
    output: TensorOrEdge,
    spec: TensorSpec,
    gradient: Tensor | None,
    index: int,
    ones_of_spec: dict[TensorSpec, Value],
) -> Value:
    """The gradient to start with: the one of the user, or one for a single element.

    The elements of a long tensor, as its parts, start with the same number.
    """
    if gradient is None:
        if spec.numel != 1:
            raise RuntimeError(
                "grad can be implicitly created only for scalar outputs, not for the shape "
                f"{list(spec.shape)}; reduce it with sum() or mean(), or give a gradient of that "
                "shape"
            )
        if spec.dtype.is_complex and program_name() == PYTORCH:
            raise RuntimeError(
                "grad can be implicitly created only for real scalar outputs but got "
                f"{spec.dtype!r}"
            )
        if isinstance(output, Tensor) and (
            SUMS.is_asked or isinstance(output._value, ValueOfClass)
        ):
            return value_of(ones_like(output))
        first = ones_of_spec.get(spec)
        if first is not None:
            return first.alias()
        value = ones(shape=spec.shape, dtype=spec.dtype, device=spec.device)
        return ones_of_spec.setdefault(spec, value)
    if not isinstance(gradient, Tensor):
        raise TypeError(
            f"gradients can be either Tensors or None, but got {type(gradient).__name__}"
        )
    if gradient.shape != spec.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {gradient.shape} and "
            f"output[{index}] has a shape of {Size(spec.shape)}."
        )
    if gradient.dtype.is_complex != spec.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. "
            f"Mismatch in dtype: grad_output[{index}] has a dtype of {gradient.dtype!r} and "
            f"output[{index}] has a dtype of {spec.dtype!r}."
        )
    return value_of(gradient)


def _targets(inputs: Sequence[TensorOrEdge]) -> list[Edge]:
    """The edges at which the gradients of `inputs` arrive.

    Raises:
        RuntimeError: an input that does not require grad.
    """
    edges = []
    for tensor in inputs:
        edge, _ = _edge_and_spec(tensor)
        if edge is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        edges.append(edge)
    return edges


def _retain_gradients(tensors: list[TensorOrEdge]) -> None:
    """Ask tensors to retain their gradients, which changes nothing for leaves."""
    for tensor in tensors:
        if isinstance(tensor, Tensor):
            tensor.retain_grad()


def backward(
    tensors: Tensors,
    grad_tensors: OptionalTensors = None,
    retain_graph: bool | None = False,
    create_graph: bool = False,
    grad_variables: OptionalTensors = None,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradients of `tensors` to the `grad` of the leaves they were computed from.

    Args:
        tensors: where to start: tensors, or their edges (`graph.get_gradient_edge`).
        grad_tensors: a gradient for each; may be left out for tensors of one element.
        retain_graph: keep what the pass needs for another one; `create_graph` does too.
        create_graph: record the pass, for higher derivatives.
        grad_variables: old name of `grad_tensors`.
        inputs: give gradients to these tensors only, which need not be leaves; those that are not
            retain their gradients from then on. The gradient of an edge that belongs to no leaf
            is not kept.

    Raises:
        RuntimeError: a tensor does not require grad, a gradient is missing or does not fit, or a
            function transform such as `func.grad` is running.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([1.0, 2.0], requires_grad=True)
        >>> flow.autograd.backward([(x * x).sum(), (3 * x).sum()])
        >>> x.grad
        tensor([5., 7.], dtype=oneflow.float32)
    """
    if isinstance(retain_graph, str) or isinstance(create_graph, str):
        as_flag("backward", "retain_graph", retain_graph)
        as_flag("backward", "create_graph", create_graph)
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError("`grad_tensors` and `grad_variables` mean the same; give one")
        grad_tensors = grad_variables
    if TRANSFORMS.running:
        raise RuntimeError(
            "backward() called inside a function transform such as `func.grad` or `func.vmap`, "
            "where leaves keep no gradients; call `autograd.grad` or another transform there"
        )
    try:
        roots = _roots(_as_list(tensors, "tensors"), grad_tensors)
        edges = None if inputs is None else _targets(_as_list(inputs, "inputs"))
    except ComposedOperandError:
        arguments = (_elements(value) for value in (tensors, grad_tensors, inputs))
        tensors, grad_tensors, inputs = arguments
        backward(tensors, grad_tensors, retain_graph, create_graph, inputs=inputs)
        return
    if _INITIAL_GRADIENT.change is not None:
        roots = [(edge, _INITIAL_GRADIENT.change(gradient)) for edge, gradient in roots]
    keep = bool(retain_graph or create_graph)
    if inputs is None:
        backward_pass(roots, keep_graph=keep, create_graph=create_graph)
        return
    targets = _as_list(inputs, "inputs")
    if not targets:
        raise RuntimeError("`inputs` argument to `backward` cannot be empty.")
    _retain_gradients(targets)
    backward_pass(roots, keep_graph=keep, create_graph=create_graph, targets=edges, accumulate=True)


@reject_strings
def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: OptionalTensors = None,
    retain_graph: bool | None = False,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
    *,
    only_inputs: bool = True,
) -> tuple[Tensor | None, ...]:
    """Gradients of the sum of `outputs` with respect to `inputs`; no `grad` changes.

    Args:
        outputs: what is differentiated: tensors, or their edges (`graph.get_gradient_edge`).
        inputs: the tensors with respect to which to differentiate, likewise.
        grad_outputs: a gradient for each output; may be left out for outputs of one element.
        retain_graph: keep what the pass needs for another one; `create_graph` does too.
        create_graph: record the pass, so that the results can be differentiated again.
        allow_unused: give None for an input that the outputs do not depend on; default
            `materialize_grads`.
        is_grads_batched: each of `grad_outputs` has a further first dimension, and so have the
            results.
        materialize_grads: zeros instead of None.
        only_inputs: accepted for old scripts; `backward` also fills the `grad` of other leaves.

    Raises:
        RuntimeError: a tensor does not require grad or was not used; a gradient does not fit.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor(2.0, requires_grad=True)
        >>> (slope,) = flow.autograd.grad(x**3, x, create_graph=True)
        >>> flow.autograd.grad(slope, x)
        (tensor(12., dtype=oneflow.float32),)
    """
    if is_grads_batched:
        return _batched_grad(
            outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    elif not allow_unused and materialize_grads:
        raise ValueError("`materialize_grads=True` needs `allow_unused` True or left out")
    variables = _as_list(inputs, "inputs")
    if not variables:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    try:
        roots = _roots(_as_list(outputs, "outputs"), grad_outputs)
        targets = _targets(variables)
    except ComposedOperandError:
        options = (retain_graph, create_graph, allow_unused, False, materialize_grads)
        return _composed_grad(outputs, variables, grad_outputs, options)
    grads = backward_pass(
        roots,
        keep_graph=bool(retain_graph or create_graph),
        create_graph=create_graph,
        targets=targets,
    )
    if None in grads and not allow_unused:
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. "
            "Set allow_unused=True if this is the desired behavior."
        )
    results = [None if gradient is None else wrap(gradient) for gradient in grads]
    if materialize_grads:
        results = [
            wrap(zeros_of(_edge_and_spec(variable)[1])).requires_grad_(create_graph)
            if gradient is None
            else gradient
            for variable, gradient in zip(variables, results, strict=True)
        ]
    return tuple(results)


def _composed_grad(
    outputs: Tensors, inputs: list[TensorOrEdge], grad_outputs: OptionalTensors, options: tuple
) -> tuple[Tensor | None, ...]:
    """`grad` of tensors of which some are composed (sparse, nested)."""
    gradients = grad(_elements(outputs), _elements(inputs), _elements(grad_outputs), *options)
    return tuple(
        like.with_gradient(values)
        if values is not None and isinstance(like, ComposedTensor)
        else values
        for like, values in zip(inputs, gradients, strict=True)
    )


def derivatives(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    weights: Sequence[Tensor | None],
    *,
    hooks: bool,
) -> list[Tensor]:
    """Gradients of the sum of weighted outputs, recorded, zeros where they depend on nothing.

    Args:
        outputs: what is differentiated; what does not require grad counts as constant.
        inputs: the tensors with respect to which to differentiate.
        weights: a gradient for each output; None for outputs of one element.
        hooks: run the hooks on the way; the passes of forward mode do not, and ask functions of
            users for their `jvp`.
    """
    gradients = optional_derivatives(outputs, inputs, weights, hooks=hooks, create_graph=True)
    return [
        wrap(zeros_of(variable._value.spec)) if gradient is None else gradient
        for variable, gradient in zip(inputs, gradients, strict=True)
    ]


def optional_derivatives(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    weights: Sequence[Tensor | None],
    *,
    hooks: bool,
    create_graph: bool,
) -> list[Tensor | None]:
    """`derivatives`, but None for inputs on which the outputs do not depend; the graph stays.

    Args:
        outputs: what is differentiated.
        inputs: the tensors with respect to which to differentiate.
        weights: a gradient for each output; None for outputs of one element.
        hooks: run the hooks on the way, as in `derivatives`.
        create_graph: record the pass.
    """
    if len(outputs) != len(weights):
        raise RuntimeError(f"expected a tensor for each of {len(outputs)}, got {len(weights)}")
    pairs = [pair for pair in zip(outputs, weights, strict=True) if pair[0].requires_grad]
    roots = _roots([output for output, _ in pairs], [weight for _, weight in pairs])
    with tangent_passes(not hooks):
        gradients = backward_pass(
            roots,
            keep_graph=True,
            create_graph=create_graph,
            targets=_targets(list(inputs)),
            hooks=hooks,
        )
    return [None if gradient is None else wrap(gradient) for gradient in gradients]


def _batched_grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: OptionalTensors,
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool | None,
) -> tuple[Tensor | None, ...]:
    """`grad` for each entry of the first dimension of `grad_outputs`, the results stacked."""
    vectors = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs or ())
    if not vectors or vectors[0] is None:
        raise ValueError("`is_grads_batched` needs `grad_outputs`")
    for index, (output, vector) in enumerate(
        zip(_as_list(outputs, "outputs"), vectors, strict=False)
    ):
        spec = _edge_and_spec(output)[1]
        if vector is not None and vector.shape[1:] != spec.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension, and the others must be those of the output: "
                f"grad_output[{index}] has a shape of {vector.shape} and output[{index}] has a "
                f"shape of {Size(spec.shape)}."
            )
    count = len(vectors[0])
    keep = bool(retain_graph or create_graph)
    rows = [
        grad(
            outputs,
            inputs,
            [None if vector is None else vector[index] for vector in vectors],
            keep or index < count - 1,
            create_graph,
            allow_unused,
        )
        for index in range(count)
    ]
    return tuple(None if column[0] is None else stack(column) for column in zip(*rows, strict=True))


def _backward_method(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = False,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradients of this tensor to the `grad` of the leaves it was computed from.

    Args:
        self: where to start.
        gradient: gradient of this tensor; may be left out for a single element.
        retain_graph: keep what the pass needs for another one; `create_graph` does too.
        create_graph: record the pass, for higher derivatives.
        inputs: give gradients to these tensors only, which need not be leaves; those that are not
            retain their gradients from then on.

    Raises:
        RuntimeError: nothing here requires grad, or `gradient` is missing or does not fit.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([3.0], requires_grad=True)
        >>> (x * x).backward()
        >>> x.grad.item()
        6.0
    """
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


attach_method("backward", _backward_method)
