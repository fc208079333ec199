"""The backward walk: from the roots to the leaves, latest node first, each node once.

Nodes are numbered as they are created, and a node's inputs are older than itself; so taking the
highest number first means that all gradients of a node's outputs have arrived when its turn comes.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Sequence

from oneflow.base.shape import sums_to
from oneflow.base.spec import TensorSpec
from oneflow.differentiation.grad_mode import MODE
from oneflow.differentiation.hooks import SUMS
from oneflow.differentiation.nesting import (
    FREE_PASSES,
    raise_recursion_limit,
    restore_recursion_limit,
)
from oneflow.differentiation.node import Node, with_zeros
from oneflow.primitives.operators.elementwise import cast, isnan
from oneflow.primitives.operators.reduce import any_true, sum_to
from oneflow.program.value import Value

Edge = tuple[Node, int]


class _Passes(threading.local):
    """The backward passes that this thread is in: one may run inside another.

    Attributes:
        depth: the number of passes that run inside each other.
        at_end: the functions to call when the outermost pass ends, in order; True for those that
            are called after passes without leaves, too.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.at_end: dict[Callable[[], None], bool] = {}

    def take(self) -> dict[Callable[[], None], bool]:
        """Empty `at_end` and return its former contents."""
        callbacks, self.at_end = self.at_end, {}
        return callbacks


_passes = _Passes()


def call_after_backward(action: Callable[[], None], *, also_without_leaves: bool = False) -> bool:
    """Call `action` once when the backward pass that is running is over; hooks use it.

    It is not called if the pass fails; after passes for targets only if `also_without_leaves`.

    Returns:
        Whether `action` is new to this pass.
    """
    is_new = action not in _passes.at_end
    _passes.at_end[action] = also_without_leaves
    return is_new


def backward_pass(
    roots: Sequence[tuple[Edge, Value]],
    *,
    keep_graph: bool,
    create_graph: bool,
    targets: Sequence[Edge] | None = None,
    accumulate: bool = False,
    hooks: bool = True,
) -> list[Value | None]:
    """Propagate gradients from `roots`.

    Args:
        roots: ``(edge, gradient)`` pairs to start from.
        keep_graph: keep saved values for another pass.
        create_graph: record this pass, so that its results can be differentiated.
        targets: collect the gradients of these edges and give nothing to the leaves; None
            accumulates into the leaves.
        accumulate: add gradients to `Tensor.grad` of the leaves among `targets`, and collect none.
        hooks: run the hooks on nodes.

    Returns:
        One gradient (or None) per target.
    """
    walk = _Walk(keep_graph, targets, accumulate, [node for (node, _), _ in roots], hooks)
    before = MODE.enabled
    depth = _passes.depth + 1
    if depth > FREE_PASSES:
        raise_recursion_limit(depth)
    MODE.enabled = create_graph
    _passes.depth = depth
    try:
        for (node, index), grad in roots:
            walk.send(node, index, grad if create_graph or grad.node is None else grad.alias())
        walk.run()
        while _passes.at_end and _passes.depth == 1:  # an action may ask for others
            for action, also_without_leaves in _passes.take().items():
                if targets is None or accumulate or also_without_leaves:
                    action()
    finally:
        MODE.enabled = before
        _passes.depth -= 1
        if depth > FREE_PASSES:
            restore_recursion_limit()
        if _passes.at_end and _passes.depth == 0:
            _passes.take()
    return [walk.collected.get(target) for target in targets or ()]


class _Walk:
    """One backward pass in progress.

    Attributes:
        collected: the gradients that have arrived at the targets.
        accumulates: the nodes of targets run, too, so that leaves get their gradients.
    """

    def __init__(
        self,
        keep_graph: bool,
        targets: Sequence[Edge] | None,
        accumulates: bool,
        roots: Sequence[Node],
        hooks: bool,
    ) -> None:
        self._hooks = hooks
        self._add = SUMS.add
        self._keep_graph = keep_graph
        # Leaves get their gradients unless there are targets; then only what leads to those runs.
        self._for_leaves = targets is None
        self._targets = set(targets or ())
        self._goals = {node for node, _ in self._targets}
        self._useful = {} if self._for_leaves else _leading_to(self._goals, roots)
        self._received: dict[Node, list[Value | None]] = {}
        self._queue: list[tuple[int, Node]] = []
        self.collected: dict[Edge, Value] = {}
        self.accumulates = accumulates

    def send(self, node: Node, index: int, grad: Value) -> None:
        """Add `grad` to the gradient of output `index` of `node`."""
        if not (self._for_leaves or self._useful[node] or node in self._goals):
            return
        slots = self._received.get(node)
        if slots is None:
            slots = self._received[node] = [None] * len(node.out_specs)
            heapq.heappush(self._queue, (-node.sequence, node))
        spec = node.out_specs[index]
        if grad.spec is not spec:
            grad = match_spec(grad, spec)
        total = slots[index]
        slots[index] = grad if total is None else self._add(total, grad)

    def run(self) -> None:
        """Take nodes, latest first, until none is left.

        In anomaly mode an error tells where in the forward pass its node was made.
        """
        queue, received, send = self._queue, self._received, self.send
        node = None
        try:
            while queue:
                node = heapq.heappop(queue)[1]
                grads = received.pop(node)
                if node.hooks is not None and self._hooks:
                    node.hooks.arrive(grads)
                if not self._for_leaves and not self._is_needed(node, grads):
                    continue
                results = self._apply(node, grads)
                if not self._keep_graph:
                    node.release()
                for edge, grad in zip(node.edges, results, strict=False):
                    if grad is not None:
                        send(edge[0], edge[1], grad)
        except Exception as error:
            if node is not None and node.forward_lines:
                error.add_note(f"Forward call that made this step:\n{''.join(node.forward_lines)}")
            raise

    def _apply(self, node: Node, grads: list[Value | None]) -> Sequence[Value | None]:
        """Run one node."""
        hooks = node.hooks if self._hooks else None
        if hooks is not None:
            grads = hooks.enter(grads)
        if None in grads and node.materialize_grads:
            grads = with_zeros(node, grads)
        results = node.apply(grads)
        if MODE.anomaly and MODE.check_nan:
            _check_nan(node, results)
        return results if hooks is None else hooks.leave(results, grads)

    def _is_needed(self, node: Node, grads: list[Value | None]) -> bool:
        """Collect the gradients of targets, and return whether the node must run."""
        if self.accumulates:
            has_hooks = node.hooks is not None and bool(node.hooks.before or node.hooks.after)
            return self._useful[node] or node.is_leaf_node or has_hooks
        for index, grad in enumerate(grads):
            if grad is not None and (node, index) in self._targets:
                self.collected[node, index] = grad
        return self._useful[node]


def _leading_to(targets: set[Node], roots: Sequence[Node]) -> dict[Node, bool]:
    """Map each node that `roots` lead to, to whether it leads to one of `targets`."""
    has_path: dict[Node, bool] = {}
    stack = list(roots)
    while stack:
        node = stack[-1]
        if node in has_path:
            stack.pop()
            continue
        parents = [edge[0] for edge in node.edges]
        unknown = [parent for parent in parents if parent not in has_path]
        if unknown:
            stack.extend(unknown)
            continue
        has_path[node] = any(parent in targets or has_path[parent] for parent in parents)
        stack.pop()
    return has_path


def _check_nan(node: Node, results: Sequence[Value | None]) -> None:
    for index, grad in enumerate(results):
        if grad is not None and bool(any_true(isnan(grad)).read()):
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {index}th output."
            )


def match_spec(grad: Value, spec: TensorSpec) -> Value:
    """`grad` summed over broadcast dimensions and cast, so that it has `spec`.

    Raises:
        RuntimeError: `spec` does not broadcast to it, as that of a tensor that got other `data`.
    """
    if grad.spec.shape != spec.shape:
        if not sums_to(grad.spec.shape, spec.shape):
            raise RuntimeError(
                f"the backward pass returned an invalid gradient - got {list(grad.spec.shape)} but "
                f"expected shape compatible with {list(spec.shape)}"
            )
        grad = sum_to(grad, shape=spec.shape)
    if grad.spec.dtype is not spec.dtype:
        grad = cast(grad, dtype=spec.dtype)
    return grad
