"""Nodes of the autograd graph: one per recorded call, plus one per leaf."""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Callable
from typing import Any
from weakref import ref

from oneflow.base.spec import TensorSpec
from oneflow.differentiation.grad_mode import MODE
from oneflow.primitives.operation import Operation
from oneflow.program.value import Value

_sequence = itertools.count()

SECOND_BACKWARD = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time."
)


class Anomaly:
    """Anomaly mode: nodes remember the forward line that made them, and backward looks for NaN."""

    enabled = False
    check_nan = True


class Node:
    """A step of the backward pass.

    Attributes:
        edges: ``(node, output index)`` that each of `apply`'s results goes to.
        out_specs: specs of the outputs, which are the specs of the incoming gradients.
        sequence: creation order; the backward walk goes from high to low.
        hooks: per output index, functions ``Value -> Value | None`` run on its complete gradient.
        forward_lines: where the forward call was made, kept in anomaly mode only.
        stale_outputs: how many outputs were overwritten in place after they were made.
        is_leaf_node: it belongs to a leaf.
    """

    __slots__ = (
        "__weakref__",
        "edges",
        "forward_lines",
        "hooks",
        "metadata",
        "out_specs",
        "sequence",
        "stale_outputs",
    )

    def __init__(self, edges: tuple, out_specs: tuple[TensorSpec, ...]) -> None:
        self.edges = edges
        self.out_specs = out_specs
        self.sequence = next(_sequence)
        self.hooks: dict[int, list[Callable]] | None = None
        self.stale_outputs = 0
        self.forward_lines = traceback.format_stack()[:-3] if Anomaly.enabled else None

    is_leaf_node = False

    def apply(self, grads: list) -> list:
        """Gradients of the inputs from gradients of the outputs (None stands for zero)."""
        raise NotImplementedError

    def release(self) -> None:
        """Give up what was kept for the backward pass."""

    def name(self) -> str:
        """Name shown to users, such as ``mul_backward``."""
        raise NotImplementedError

    @property
    def next_functions(self) -> tuple:
        """The nodes behind the inputs, as ``(node, output index)`` pairs."""
        return self.edges

    def __repr__(self) -> str:
        return f"<{self.name()}>"


class OperationNode(Node):
    """Backward of one recorded operation."""

    __slots__ = ("_outputs", "_plan", "_saved")

    def __init__(self, operation: Operation, operands: tuple, outputs: Any) -> None:
        wanted = tuple([type(x) is Value and x.node is not None for x in operands])
        plan = self._plan = operation.backward_plan(wanted)
        self.edges = tuple([(operands[p].node, operands[p].output_index) for p in plan.positions])
        self._saved = tuple([operands[p] for p in plan.saved])
        self.out_specs = operation.out_specs
        self.sequence = next(_sequence)
        self.hooks = None
        self.stale_outputs = 0
        self.forward_lines = traceback.format_stack()[:-3] if Anomaly.enabled else None
        self._outputs: tuple | None = ()
        if operation.single:
            outputs.node = self
            if plan.saves_output:
                self._outputs = (outputs.alias(),)
            return
        flows = operation.out_differentiable
        for index, output in enumerate(outputs):
            if flows[index]:
                output.node, output.output_index = self, index
        if plan.saves_output:
            self._outputs = tuple([output.alias() for output in outputs])

    def apply(self, grads: list) -> list:
        saved = self._saved
        if saved is None:
            raise RuntimeError(SECOND_BACKWARD)
        for value in saved:
            if type(value) is Value and value.stale:
                self._raise_modified(value.spec)
        return self._plan.run(grads, saved, self._unpack_outputs() if self._outputs else ())

    def _unpack_outputs(self) -> tuple:
        """The saved outputs, with their history if this pass is itself recorded.

        They are kept without it, as a node that holds its own output would be a cycle.
        """
        if self.stale_outputs:
            self._raise_modified(self.out_specs[0])
        if not MODE.enabled:
            return self._outputs
        unpacked = []
        for index, output in enumerate(self._outputs):
            twin = output.alias()
            twin.node, twin.output_index = self, index
            unpacked.append(twin)
        return tuple(unpacked)

    def _raise_modified(self, spec: TensorSpec) -> None:
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"{spec!r}, saved by `{self._plan.operation.primitive.name}`. Write to a copy instead (`x = x + 1`), or "
            "find the forward line with autograd.set_detect_anomaly(True)."
        )

    def release(self) -> None:
        if self._saved or self._outputs:
            self._saved = None
            self._outputs = None

    def name(self) -> str:
        return f"{self._plan.operation.primitive.name}_backward"


class AccumulateGrad(Node):
    """The node of a leaf: hands the finished gradient to its owner, if that still exists.

    The owner is held weakly: nobody could see the gradient of a tensor that is gone, and a strong reference would tie
    tensor, value and node into a cycle that only the garbage collector could free.
    """

    __slots__ = ("_deposit", "_owner", "post_hooks")
    is_leaf_node = True

    def __init__(self, owner: Any, spec: TensorSpec, deposit: Callable[[Any, Value], None]) -> None:
        super().__init__((), (spec,))
        self._owner = ref(owner)
        self._deposit = deposit
        self.post_hooks: list[Callable] = []

    @property
    def variable(self) -> Any:
        """The leaf itself, or None when it is gone."""
        return self._owner()

    def apply(self, grads: list) -> list:
        owner = self._owner()
        if owner is not None and grads[0] is not None:
            self._deposit(owner, grads[0])
            for hook in self.post_hooks:
                hook(owner)
        return []

    def name(self) -> str:
        return "accumulate_grad"
