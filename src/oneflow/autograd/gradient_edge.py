"""Places in the graph at which gradients arrive: they stand for tensors that are gone."""

from __future__ import annotations

from typing import NamedTuple

from oneflow.base.spec import TensorSpec
from oneflow.differentiation.node import Node
from oneflow.differentiation.node_names import public_node
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


class GradientEdge(NamedTuple):
    """The place in the graph at which the gradient of a tensor arrives.

    `backward` and `grad` take one wherever they take a tensor.

    Attributes:
        node: the node of the tensor, its `grad_fn`; of a leaf the node that accumulates.
        output_nr: the number of the tensor among the node's outputs.
        ownership_token: None; in PyTorch it keeps the graph alive, which `node` does here.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.autograd.graph import GradientEdge
        >>> x = flow.tensor([3.0], requires_grad=True)
        >>> y = x * x
        >>> flow.autograd.grad(y, GradientEdge(*y.grad_fn.next_functions[0]))
        (tensor([6.], dtype=oneflow.float32),)
    """

    node: Node
    output_nr: int
    ownership_token: Node | None = None

    @property
    def spec(self) -> TensorSpec:
        """The spec of the tensor, which is that of its gradient.

        Raises:
            TypeError: `node` is no node of the graph.
            IndexError: the node has no such output.
        """
        if not isinstance(self.node, Node):
            raise TypeError(f"the node of an edge must be a Node, got {type(self.node).__name__}")
        specs = self.node.out_specs
        if not 0 <= self.output_nr < len(specs):
            raise IndexError(
                f"{self.node.name()} has {len(specs)} outputs, there is no output {self.output_nr}"
            )
        return specs[self.output_nr]


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the place in the graph at which the gradient of a tensor arrives.

    Args:
        tensor: the tensor; its gradient can be asked for when it is gone.

    Raises:
        RuntimeError: it does not require grad.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([3.0], requires_grad=True)
        >>> y = x * x
        >>> edge = flow.autograd.graph.get_gradient_edge(y)
        >>> z = 5 * y
        >>> del y
        >>> flow.autograd.grad(z, edge)
        (tensor([5.], dtype=oneflow.float32),)
    """
    value = unwrap(tensor)
    if value.node is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    return GradientEdge(public_node(value.node), value.output_index)
