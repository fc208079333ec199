"""Distances, similarities and normalisation to length 1."""

from __future__ import annotations

from oneflow.base.dtype import Category
from oneflow.base.shape import wrap_dim
from oneflow.functional.elementwise.activation import require_floating
from oneflow.functional.registry import function
from oneflow.functional.shape.stack import broadcast_tensors
from oneflow.primitives.operators import distance as d
from oneflow.primitives.operators.shape import reshape
from oneflow.tensor.call import call
from oneflow.tensor.operands import as_float, promote_operands, require_tensor
from oneflow.tensor.tensor import Tensor


@function(
    method=False,
    keyword_aliases={"x1": "x", "x2": "y"},
    namespace="nn.functional",
    also=("cosine_similarity",),
)
def cosine_similarity(x: Tensor, y: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Cosine of the angle between vectors along a dimension.

    Args:
        x: any shape.
        y: a shape that broadcasts with it.
        dim: the vectors' dimension.
        eps: lengths are at least this.

    Raises:
        RuntimeError: `eps` is negative or NaN.

    Example:
        >>> import oneflow as flow
        >>> x, y = flow.tensor([[3.0, 4.0]]), flow.tensor([[4.0, 3.0]])
        >>> flow.nn.functional.cosine_similarity(x, y)
        tensor([0.9600], dtype=oneflow.float32)
    """
    x, y = promote_operands((x, y))
    require_floating(x, "cosine_similarity")
    dim = wrap_dim(dim, max(x.ndim, y.ndim))
    if not x.ndim and not y.ndim:
        x, y = (call(reshape, vector, shape=(1,)) for vector in (x, y))
    if x.shape != y.shape:
        # A vector of one element that stands for several is as long as they are.
        x, y = broadcast_tensors(x, y)
    if not eps >= 0:  # NaN, too
        raise RuntimeError(f"`eps` must not be negative, got {eps}")
    return call(d.cosine_similarity, x, y, as_float(eps, "eps"), dim=dim - x.ndim)


@function(method=False, namespace="nn.functional", also=("pairwise_distance",))
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """Distance between vectors along the last dimension.

    Args:
        x1: shape ``(*, D)``.
        x2: a shape that broadcasts with it.
        p: which norm.
        eps: added to differences, so that distances have gradients.
        keepdim: keep the last dimension with size 1.

    Example:
        >>> import oneflow as flow
        >>> x1, x2 = flow.tensor([[0.0, 0.0]]), flow.tensor([[3.0, 4.0]])
        >>> flow.nn.functional.pairwise_distance(x1, x2, eps=0.0)
        tensor([5.], dtype=oneflow.float32)
    """
    operands = promote_operands((x1, x2), floating=True)
    if not any(operand.ndim for operand in operands):
        first, second = (operand.reshape(1) for operand in operands)
        return pairwise_distance(first, second, p, eps, keepdim).reshape(())
    return call(
        d.pairwise_distance,
        *operands,
        as_float(eps, "eps"),
        p=as_float(p, "p"),
        keepdim=bool(keepdim),
    )


@function(method=False, namespace="nn.functional")
def normalize(
    input: Tensor,
    p: float = 2.0,
    dim: int = 1,
    eps: float = 1e-12,
    use_l2_norm_kernel: bool = True,
) -> Tensor:
    """Vectors along a dimension, divided by their length.

    Args:
        input: floating point or complex tensor.
        p: which norm is the length.
        dim: the vectors' dimension.
        eps: lengths are at least this.
        use_l2_norm_kernel: without effect; OneFlow has it.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.normalize(flow.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]], dtype=oneflow.float32)
    """
    require_tensor(input, "normalize")
    if input._value.spec.dtype.category < Category.FLOAT:
        require_floating(input, "normalize")
    at = wrap_dim(dim, input.ndim)
    vectors = input if input.ndim else call(reshape, input, shape=(1,))
    units = call(d.unit_vectors, vectors, as_float(eps, "eps"), p=as_float(p, "p"), dim=at)
    return units if input.ndim else call(reshape, units, shape=())


@function(method=False, namespace="nn.functional")
def l2_normalize(input: Tensor, axis: int = 0, epsilon: float = 1e-12) -> Tensor:
    """Vectors along a dimension, divided by ``sqrt(max(sum of squares, epsilon))``.

    Args:
        input: floating point tensor.
        axis: the vectors' dimension.
        epsilon: sums of squares are at least this.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.l2_normalize(flow.tensor([3.0, 4.0]))
        tensor([0.6000, 0.8000], dtype=oneflow.float32)
    """
    require_floating(input, "l2_normalize")
    return call(d.l2_normalize, input, as_float(epsilon, "epsilon"), dim=wrap_dim(axis, input.ndim))
