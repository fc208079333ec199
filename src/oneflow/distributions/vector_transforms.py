"""Transforms of vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence

from oneflow.base.limits import finfo
from oneflow.base.shape import Size
from oneflow.distributions import constraints
from oneflow.distributions.parameters import tril_matrix_to_vec, vec_to_tril_matrix
from oneflow.distributions.transform import FixedTransform
from oneflow.functional.creation.factory_functions import arange, eye
from oneflow.functional.elementwise.activation import logsigmoid, softplus
from oneflow.functional.linalg.decompositions import cholesky
from oneflow.functional.nn.padding import pad
from oneflow.functional.shape.rearrange import diag_embed
from oneflow.tensor.tensor import Tensor


def _vector_size(shape: Sequence[int]) -> int:
    if len(shape) < 1:
        raise ValueError("Too few dimensions on input")
    return shape[-1]


class SoftmaxTransform(FixedTransform):
    """`softmax` of vectors; it has no inverse, and `inv(y)` is ``log(y)``.

    Args:
        cache_size: 1 to remember the last argument with its result.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.SoftmaxTransform()(flow.zeros(2))
        tensor([0.5000, 0.5000], dtype=oneflow.float32)
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of results whose arguments have this one."""
        _vector_size(shape)
        return Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The shape of arguments whose results have this one."""
        return self.forward_shape(shape)


class StickBreakingTransform(FixedTransform):
    """From vectors to one element more, which sum to 1: each splits the remaining stick.

    Zeros become equal shares.

    Args:
        cache_size: 1 to remember the last argument with its result.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.StickBreakingTransform()(flow.zeros(3))
        tensor([0.2500, 0.2500, 0.2500, 0.2500], dtype=oneflow.float32)
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _shifted(self, x: Tensor) -> Tensor:
        """Arguments less the logarithms of how many elements are left."""
        size = x.shape[-1]
        return x - arange(size, 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Tensor) -> Tensor:
        taken = self._shifted(x).sigmoid()
        left = (1 - taken).cumprod(-1)
        return pad(taken, (0, 1), value=1.0) * pad(left, (1, 0), value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        shares = y[..., :-1]
        size = shares.shape[-1]
        left = (1 - shares.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        count = arange(size, 0, -1, dtype=y.dtype, device=y.device)
        return shares.log() - left.log() + count.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum of the logarithms of the derivatives: the matrix is triangular."""
        shifted = self._shifted(x)
        return (-shifted + logsigmoid(shifted) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of results whose arguments have this one."""
        return Size((*shape[:-1], _vector_size(shape) + 1))

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The shape of arguments whose results have this one."""
        return Size((*shape[:-1], _vector_size(shape) - 1))


class CorrCholeskyTransform(FixedTransform):
    """Vectors to Cholesky factors of correlation matrices.

    The elements, between -1 and 1 by `tanh`, are partial correlations; row by row each takes its
    share of what is left of the row's length (Stan reference manual, "Cholesky factors of
    correlation matrices").

    Args:
        cache_size: 1 to remember the last argument with its result.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.CorrCholeskyTransform()(flow.zeros(1))
        tensor([[1., 0.],
                [0., 1.]], dtype=oneflow.float32)
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        limit = finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(limit - 1, 1 - limit), diag=-1)
        left = (1 - partial**2).sqrt().cumprod(-1)
        size = partial.shape[-1]
        ones = eye(size, dtype=x.dtype, device=x.device)
        return (partial + ones) * pad(left[..., :-1], (1, 0), value=1.0)

    def _squares_left(self, y: Tensor) -> Tensor:
        """1 less the sum of squares of each row, up to and including each element."""
        return 1 - (y * y).cumsum(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        before = pad(self._squares_left(y)[..., :-1], (1, 0), value=1.0)
        lengths = tril_matrix_to_vec(before, diag=-1).sqrt()
        return (tril_matrix_to_vec(y, diag=-1) / lengths).atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The part of the remaining length of the rows, and the part of `tanh`."""
        left = tril_matrix_to_vec(self._squares_left(y), diag=-2)
        of_tanh = 2 * (x + softplus(-2 * x) - math.log(2))
        return 0.5 * left.log().sum(-1) - of_tanh.sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of results whose arguments have this one."""
        count = _vector_size(shape)
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], size, size))

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The shape of arguments whose results have this one."""
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return Size((*shape[:-2], shape[-1] * (shape[-1] - 1) // 2))


class LowerCholeskyTransform(FixedTransform):
    """Matrices to lower triangular ones with the exponentials of their diagonals.

    Args:
        cache_size: 1 to remember the last argument with its result.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.LowerCholeskyTransform()(flow.tensor([[0.0, 2.0], [3.0, 0.0]]))
        tensor([[1., 0.],
                [3., 1.]], dtype=oneflow.float32)
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + diag_embed(x.diagonal(dim1=-2, dim2=-1).exp())

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + diag_embed(y.diagonal(dim1=-2, dim2=-1).log())


class PositiveDefiniteTransform(FixedTransform):
    """Matrices to positive definite ones, by way of their Cholesky factors.

    Args:
        cache_size: 1 to remember the last argument with its result.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.PositiveDefiniteTransform()(flow.tensor([[0.0, 2.0], [3.0, 0.0]]))
        tensor([[ 1.,  3.],
                [ 3., 10.]], dtype=oneflow.float32)
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(cholesky(y))
