"""The backward walk: from the roots to the leaves, latest node first, each node once.

Nodes are numbered as they are created, and a node's inputs are older than itself; so taking the highest number first
means that all gradients of a node's outputs have arrived when its turn comes.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from oneflow.base.spec import TensorSpec
from oneflow.differentiation.grad_mode import MODE
from oneflow.differentiation.node import AccumulateGrad, Anomaly, Node
from oneflow.primitives.creation import zeros
from oneflow.primitives.elementwise import add, cast, isnan
from oneflow.primitives.reduce import any_true, sum_to
from oneflow.program.value import Value

Edge = tuple[Node, int]


def backward_pass(
    roots: Sequence[tuple[Edge, Value]],
    *,
    keep_graph: bool,
    create_graph: bool,
    targets: Sequence[Edge] | None = None,
) -> list[Value | None]:
    """Propagate gradients from `roots`.

    Args:
        roots: ``(edge, gradient)`` pairs to start from.
        keep_graph: keep saved values for another pass.
        create_graph: record this pass, so that its results can be differentiated.
        targets: collect the gradients of these edges and give nothing to the leaves; None deposits into the leaves.

    Returns:
        One gradient (or None) per target.
    """
    walk = _Walk(keep_graph, targets)
    before = MODE.enabled
    MODE.enabled = create_graph
    try:
        for (node, index), grad in roots:
            walk.send(node, index, grad)
        walk.run()
    finally:
        MODE.enabled = before
    return [walk.collected.get(target) for target in targets or ()]


class _Walk:
    """One backward pass in progress."""

    def __init__(self, keep_graph: bool, targets: Sequence[Edge] | None) -> None:
        self._keep_graph = keep_graph
        self._targets = None if targets is None else set(targets)
        self._arrived: dict[Node, list[Value | None]] = {}
        self._queue: list[tuple[int, Node]] = []
        self._needed: dict[Node, bool] = {}
        self.collected: dict[Edge, Value] = {}

    def send(self, node: Node, index: int, grad: Value) -> None:
        """Add `grad` to what has arrived for output `index` of `node`."""
        slots = self._arrived.get(node)
        if slots is None:
            slots = self._arrived[node] = [None] * len(node.out_specs)
            heapq.heappush(self._queue, (-node.sequence, node))
        spec = node.out_specs[index]
        if grad.spec is not spec:
            grad = conform(grad, spec)
        known = slots[index]
        slots[index] = grad if known is None else add(known, grad)

    def run(self) -> None:
        """Take nodes, latest first, until none is left."""
        while self._queue:
            _, node = heapq.heappop(self._queue)
            grads = self._arrived.pop(node)
            if node.hooks:
                _run_hooks(node, grads)
            if self._targets is not None and not self._collect(node, grads):
                continue
            try:
                results = node.apply(_filled(node, grads))
                if Anomaly.enabled:
                    _check_nan(node, results)
            except Exception as error:
                if node.forward_lines:
                    error.add_note(
                        "Forward call that made this step:\n" + "".join(node.forward_lines)
                    )
                raise
            if not self._keep_graph:
                node.release()
            for edge, grad in zip(node.edges, results, strict=False):
                if grad is not None:
                    self.send(edge[0], edge[1], grad)

    def _collect(self, node: Node, grads: list[Value | None]) -> bool:
        """Keep the gradients asked for; False when nothing asked for lies behind `node`."""
        for index, grad in enumerate(grads):
            if grad is not None and (node, index) in self._targets:
                self.collected[node, index] = grad
        return not isinstance(node, AccumulateGrad) and self._leads_to_target(node)

    def _leads_to_target(self, root: Node) -> bool:
        """Whether some target is reachable through the inputs of `root`."""
        goals = {node for node, _ in self._targets}
        stack = [root]
        while stack:
            node = stack[-1]
            if node in self._needed:
                stack.pop()
                continue
            behind = [edge[0] for edge in node.edges]
            unknown = [each for each in behind if each not in self._needed]
            if unknown:
                stack.extend(unknown)
                continue
            self._needed[node] = any(each in goals or self._needed[each] for each in behind)
            stack.pop()
        return self._needed[root]


def _filled(node: Node, grads: list[Value | None]) -> list[Value | None]:
    """Zeros for outputs no gradient arrived at; a custom function decides that for itself."""
    if None not in grads or not getattr(node, "materialize_grads", True):
        return grads
    return [
        zeros(shape=spec.shape, dtype=spec.dtype, device=spec.device) if grad is None else grad
        for grad, spec in zip(grads, node.out_specs, strict=True)
    ]


def _run_hooks(node: Node, grads: list[Value | None]) -> None:
    for index, hooks in node.hooks.items():
        for hook in list(hooks):
            if grads[index] is None:
                continue
            replaced = hook(grads[index])
            if replaced is not None:
                grads[index] = replaced


def _check_nan(node: Node, results: Sequence[Value | None]) -> None:
    for index, grad in enumerate(results):
        if grad is not None and Anomaly.check_nan and bool(any_true(isnan(grad)).read()):
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {index}th output."
            )


def conform(grad: Value, spec: TensorSpec) -> Value:
    """`grad` summed over broadcast dimensions and cast, so that it has `spec`."""
    if grad.spec.shape != spec.shape:
        grad = sum_to(grad, shape=spec.shape)
    if grad.spec.dtype is not spec.dtype:
        grad = cast(grad, dtype=spec.dtype)
    return grad
