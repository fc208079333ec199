"""Variables: leaves for as long as a function is differentiated by them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from oneflow.differentiation.grad_mode import differentiating
from oneflow.differentiation.hooks import HookOwner, running
from oneflow.differentiation.node import AccumulateGrad, Node
from oneflow.program.value import Value


@contextlib.contextmanager
def transforming(owner: HookOwner) -> Iterator[None]:
    """Context manager: the function of a transform runs inside, or a pass for its derivatives.

    Args:
        owner: owns the hooks that the function registers.
    """
    with differentiating(), running(owner):
        yield


def _ignore(owner: Any, gradient: Value) -> None:
    """Keep no gradient: nobody sees it."""


class ArgumentNode(AccumulateGrad):
    """The node of an argument of a function while derivatives by that argument are computed.

    For the function it is a leaf. Gradients of a later pass go on to the tensors from which the
    argument was computed.

    Args:
        owner: the argument.
        origin: the value that it was made of.
        linked: whether gradients go on to it.

    Attributes:
        open: derivatives by the argument are being computed; what depends on it requires grad.
    """

    __slots__ = ("open",)

    def __init__(self, owner: Any, origin: Value, linked: bool) -> None:
        super().__init__(owner, origin.spec, _ignore)
        if linked and origin.node is not None:
            self.edges = ((origin.node, origin.output_index),)
        self.open = True

    def apply(self, grads: list[Any]) -> list[Any]:
        """Pass the gradient on."""
        return grads

    def name(self) -> str:
        """The same for all variables."""
        return "variable"


def has_leaf(root: Node, dead: set[Node]) -> bool:
    """Return whether a node leads to a leaf, or to a variable that is open.

    Args:
        root: the node.
        dead: nodes that are known to lead to none; gets more.
    """
    if root in dead:
        return False
    seen, stack = {root}, [root]
    while stack:
        node = stack.pop()
        if node.open if isinstance(node, ArgumentNode) else not node.edges:
            return True
        for parent, _ in node.edges:
            if parent not in seen and parent not in dead:
                seen.add(parent)
                stack.append(parent)
    dead |= seen
    return False
