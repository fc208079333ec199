"""Nodes of the autograd graph: one per recorded call, plus one per leaf."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any
from weakref import ref

from oneflow.base.location import user_stack
from oneflow.base.program_name import PYTORCH, program_name
from oneflow.base.spec import TensorSpec
from oneflow.differentiation.grad_mode import MODE
from oneflow.differentiation.hooks import (
    TRANSFORMS,
    UNWRAP,
    WRAP,
    HookHandle,
    HookOwner,
    NodeHooks,
)
from oneflow.differentiation.node_names import operation_name, public_node, short_name
from oneflow.differentiation.saved import Packed, packed
from oneflow.primitives.operation import BackwardRules, Operation
from oneflow.primitives.operators.creation import zeros
from oneflow.program.value import INFERENCE, Value

_sequence = itertools.count()

SECOND_BACKWARD = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)
INFERENCE_SAVED = (
    "Inference tensors cannot be saved for backward. To work around you can make a clone to get a "
    "normal tensor and use it in autograd."
)
_NO_EDGE = (None, 0)
_FIRST = (1 << 64) - 1  # the largest number, as in PyTorch


def modified_error(spec: TensorSpec, name: str) -> RuntimeError:
    """The error for a value saved by `name` that was written to since."""
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: {spec!r}, saved by `{name}`. Write to a copy instead (`x = x + 1`), or find "
        "the forward line with autograd.set_detect_anomaly(True)."
    )


class Node:
    """A step of the backward pass.

    Attributes:
        edges: ``(node, output index)`` that each of `apply`'s results goes to.
        out_specs: specs of the outputs, which are the specs of the incoming gradients.
        sequence: creation order; the backward walk goes from high to low.
        hooks: functions that see the gradients, see `NodeHooks`; None as long as there are none.
        forward_lines: where the forward call was made, kept in anomaly mode only.
        stale_outputs: how many outputs were overwritten in place after they were made.
        is_leaf_node: it belongs to a leaf.
        materialize_grads: `apply` wants zeros, not None, where no gradient arrived.
    """

    __slots__ = (
        "__weakref__",
        "_metadata",
        "edges",
        "forward_lines",
        "hooks",
        "out_specs",
        "sequence",
        "stale_outputs",
    )

    def __init__(self, edges: tuple[Any, ...], out_specs: tuple[TensorSpec, ...]) -> None:
        self.edges = edges
        self.out_specs = out_specs
        self.sequence = next(_sequence)
        self.hooks: NodeHooks | None = None
        self.stale_outputs = 0
        self.forward_lines = user_stack() if MODE.anomaly else None

    is_leaf_node = False
    materialize_grads = True

    def apply(self, grads: list[Any]) -> list[Any]:
        """Gradients of the inputs from gradients of the outputs (None stands for zero)."""
        raise NotImplementedError

    def release(self) -> None:
        """Release the values that were saved for the backward pass."""

    def name(self) -> str:
        """Name shown to users, such as ``mul_backward``; ``MulBackward0`` in PyTorch's place."""
        raise NotImplementedError

    @property
    def next_functions(self) -> tuple[Any, ...]:
        """Per input, the node behind it and which of its outputs; ``(None, 0)`` without one."""
        return tuple([(public_node(node), index) for node, index in self.edges])

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for programs that attach something to nodes; empty at first."""
        try:
            return self._metadata
        except AttributeError:
            self._metadata: dict[Any, Any] = {}
            return self._metadata

    def _sequence_nr(self) -> int:
        """The number in the order in which nodes were made; leaves' nodes run before all others."""
        return _FIRST if self.is_leaf_node else self.sequence

    def ensure_hooks(self) -> NodeHooks:
        """The hooks, for adding one."""
        if self.hooks is None:
            self.hooks = NodeHooks()
            for owner in reversed(TRANSFORMS.running):
                if self.sequence >= owner.start:
                    owner.hooks[self] = self.hooks
                    break
        return self.hooks

    def register_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(gradients of the inputs, gradients of the outputs)`` after this step.

        A return value other than None replaces the gradients of the inputs.
        """
        return HookHandle(self.ensure_hooks().after, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(gradients of the outputs)`` before this step.

        A return value other than None replaces them.
        """
        return HookHandle(self.ensure_hooks().before, hook)

    def __call__(self, *grads: Any) -> Any:
        """Run this step alone: from the gradients of its outputs to the gradients of its inputs.

        Raises:
            TypeError: their number is not that of the outputs.
        """
        if len(grads) != len(self.out_specs):
            raise TypeError(
                f"{self.name()} expected {len(self.out_specs)} arguments, one gradient for each "
                f"output of the forward call, got {len(grads)} instead"
            )
        values = [None if grad is None else UNWRAP.value(grad) for grad in grads]
        if self.materialize_grads:
            values = with_zeros(self, values)
        results = [None if value is None else WRAP.value(value) for value in self.apply(values)]
        return results[0] if len(results) == 1 else tuple(results)

    def __repr__(self) -> str:
        name = short_name(self.name())
        return f"<{name} object at {id(self):#x}>" if program_name() == PYTORCH else f"<{name}>"


def with_zeros(node: Node, grads: list[Value | None]) -> list[Value | None]:
    """The gradients of the outputs of `node`, zeros where none arrived."""
    return [
        zeros(shape=spec.shape, dtype=spec.dtype, device=spec.device) if grad is None else grad
        for grad, spec in zip(grads, node.out_specs, strict=True)
    ]


def new_hook_owner() -> HookOwner:
    """An owner of the hooks on nodes that are made from here on."""
    return HookOwner(next(_sequence))


class OperationNode(Node):
    """Backward of one recorded operation; `add_node` makes it."""

    __slots__ = ("_outputs", "_rules", "_saved")

    _rules: BackwardRules
    _saved: tuple | None
    _outputs: tuple | None
    forward_lines: list[str] | None

    @property
    def materialize_grads(self) -> bool:
        """Return whether the primitive's gradient rule takes zeros, not None."""
        return self._rules.operation.primitive.materialize_grads

    def _watch(self) -> None:
        """Check and pack saved values, and note the lines of the call, for modes that need it."""
        for value in self._saved or ():
            if type(value) is Value and value.stale is INFERENCE and not MODE.inference:
                raise RuntimeError(INFERENCE_SAVED)
        if MODE.anomaly:
            self.forward_lines = user_stack()
        if MODE.saved_hooks:
            self._saved = tuple([packed(value) for value in self._saved or ()])
            self._outputs = tuple([packed(value) for value in self._outputs or ()])

    def apply(self, grads: list[Any]) -> list[Any]:
        """Run the primitive's gradient rule."""
        saved, outputs = self._saved, self._outputs
        if saved is None or outputs is None:
            raise RuntimeError(SECOND_BACKWARD)
        for value in saved:
            if type(value) is Value:
                if value.stale:
                    self._check_stale(saved)
            elif type(value) is Packed:
                saved = tuple([x.unpack(grads) if type(x) is Packed else x for x in saved])
                break
        if outputs:
            outputs = self._unpack_outputs(outputs, grads)
        results = self._rules.run(grads, saved, outputs)
        if MODE.enabled and self._rules.zero_second:
            return list(map(_with_zero_gradient, results, self.edges))
        return results

    def _check_stale(self, saved: tuple) -> None:
        """Raise if a saved value has been overwritten and is still needed."""
        for position, value in zip(self._rules.saved, saved, strict=True):
            if type(value) is not Value or not value.stale:
                continue
            if value.stale is INFERENCE:
                if MODE.inference:
                    continue
                raise RuntimeError(INFERENCE_SAVED)  # made by another thread
            if not self._rules.may_overwrite(position):
                raise modified_error(value.spec, self._rules.operation.primitive.name)

    def _unpack_outputs(self, outputs: tuple, grads: list) -> tuple:
        """The saved outputs, with their history if this pass is itself recorded.

        They are kept without it, as a node that holds its own output would be a cycle.
        """
        if type(outputs[0]) is Packed:
            outputs = tuple([output.unpack(grads) for output in outputs])
        elif self.stale_outputs and "out" not in self._rules.writable:
            raise modified_error(self.out_specs[0], self._rules.operation.primitive.name)
        if not MODE.enabled:
            return outputs
        unpacked = []
        for index, output in enumerate(outputs):
            with_history = output.alias()
            with_history.node, with_history.output_index = self, index
            unpacked.append(with_history)
        return tuple(unpacked)

    def release(self) -> None:
        """Give up the saved values."""
        if self._saved or self._outputs:
            self._saved = None
            self._outputs = None

    def name(self) -> str:
        """The primitive's name, followed by ``_backward``; in PyTorch's place PyTorch's name."""
        return operation_name(self._rules.operation)

    @property
    def next_functions(self) -> tuple[Any, ...]:
        """Per tensor operand, the node behind it and which of its outputs."""
        node_edges = dict(zip(self._rules.positions, super().next_functions, strict=True))
        numbers = self._rules.operation.is_scalar
        return tuple(node_edges.get(p, _NO_EDGE) for p, number in enumerate(numbers) if not number)


_new_node = OperationNode.__new__


def add_node(operation: Operation, operands: tuple[Any, ...], outputs: Any) -> None:
    """Make the node of a recorded operation, one of whose operands needs a gradient.

    It is not the initializer of its class: Python calls functions faster than classes.

    Args:
        operation: the operation.
        operands: its operands.
        outputs: its value, or a tuple of them if it has several outputs.
    """
    node = _new_node(OperationNode)
    if len(operands) == 2:
        x, y = operands
        needs_gradient: tuple[bool, ...] = (
            type(x) is Value and x.node is not None,
            type(y) is Value and y.node is not None,
        )
    else:
        needs_gradient = tuple([type(x) is Value and x.node is not None for x in operands])
    rules = node._rules = operation.backward_rules.get(needs_gradient) or operation.rules_for(
        needs_gradient
    )
    differentiated = rules.take_differentiated(operands)
    if len(differentiated) == 1:
        (x,) = differentiated
        node.edges = ((x.node, x.output_index),)
    elif len(differentiated) == 2:
        x, y = differentiated
        node.edges = ((x.node, x.output_index), (y.node, y.output_index))
    else:
        node.edges = tuple([(x.node, x.output_index) for x in differentiated])
    node._saved = rules.take_saved(operands)
    node.out_specs = operation.out_specs
    node.sequence = next(_sequence)
    node.hooks = None
    node.stale_outputs = 0
    node.forward_lines = None
    node._outputs = ()
    if operation.single:
        outputs.node = node
        if rules.saves_output:
            node._outputs = (outputs.alias(),)
    else:
        is_differentiable = operation.out_differentiable
        for index, output in enumerate(outputs):
            if is_differentiable[index]:
                output.node, output.output_index = node, index
        if rules.saves_output:
            node._outputs = tuple([output.alias() for output in outputs])
    if MODE.needs_checks:
        node._watch()


class ZeroGradient(Node):
    """The node of a gradient that gives zeros to values on which it does not depend.

    The first edge, if there are two, leads to the history of the gradient itself.
    """

    __slots__ = ()

    def apply(self, grads: list[Any]) -> list[Any]:
        """The gradient that has arrived, if there is history, and zeros."""
        node, index = self.edges[-1]
        spec = node.out_specs[index]
        zero = zeros(shape=spec.shape, dtype=spec.dtype, device=spec.device)
        return [*grads[: len(self.edges) - 1], zero]

    def name(self) -> str:
        """The name shown to users, ``zero_gradient``."""
        return "zero_gradient"


def _with_zero_gradient(grad: Value | None, edge: tuple) -> Value | None:
    """`grad` with a gradient, zeros, for what `edge` leads to."""
    if grad is None:
        return None
    history = () if grad.node is None else ((grad.node, grad.output_index),)
    result = grad.alias()
    result.node = ZeroGradient((*history, edge), (grad.spec,))
    return result


def _raise_swapped(owner: Any, grad: Value) -> None:
    raise RuntimeError(
        "this graph was recorded before `swap_tensors` let one of its leaves change places with "
        "another tensor: compute what you differentiate after the swap"
    )


class AccumulateGrad(Node):
    """The node of a leaf: hands the finished gradient to its owner, if that still exists.

    The owner is held weakly: nobody could see the gradient of a tensor that is gone, and a strong
    reference would tie tensor, value and node into a cycle that only the garbage collector could
    free. Only a hook that is called with the owner (`PostAccumulateHook`) holds it.
    """

    __slots__ = ("_accumulate_grad", "_owner", "post_hooks")
    is_leaf_node = True
    materialize_grads = False

    def __init__(
        self, owner: Any, spec: TensorSpec, accumulate_grad: Callable[[Any, Value], None]
    ) -> None:
        super().__init__((), (spec,))
        self._owner = ref(owner)
        self._accumulate_grad = accumulate_grad
        self.post_hooks: list[Callable] = []

    def poison(self) -> None:
        """Make gradients an error from now on: the leaf has changed places with another one."""
        self._accumulate_grad = _raise_swapped

    def accumulates(self, spec: TensorSpec, accumulate_grad: Callable[[Any, Value], None]) -> bool:
        """True if gradients of this spec are accumulated this way."""
        return self.out_specs[0] == spec and self._accumulate_grad is accumulate_grad

    @property
    def variable(self) -> Any:
        """The leaf itself, or None when it is gone."""
        return self._owner()

    def apply(self, grads: list[Any]) -> list[Any]:
        """Hand the gradient to the leaf."""
        owner = self._owner()
        if owner is None or grads[0] is None:
            return []
        self._accumulate_grad(owner, grads[0])
        for hook in list(self.post_hooks):
            hook(owner)
        return []

    def name(self) -> str:
        """The name of all leaves' nodes."""
        if program_name() == PYTORCH:
            return "torch::autograd::AccumulateGrad"
        return "accumulate_grad"


def leaf_node(
    owner: Any,
    spec: TensorSpec,
    accumulate_grad: Callable[[Any, Value], None],
    former: AccumulateGrad | None,
) -> AccumulateGrad:
    """The node of a tensor that begins to ask for gradients.

    It is the one that the tensor had before it stopped asking, if graphs that lead there still
    lead to this tensor: their gradients arrive again. A new one takes the hooks over.
    """
    if (
        former is not None
        and former.variable is owner
        and former.accumulates(spec, accumulate_grad)
    ):
        return former
    node = AccumulateGrad(owner, spec, accumulate_grad)
    if former is not None:
        node.hooks, node.post_hooks = former.hooks, former.post_hooks
    return node
