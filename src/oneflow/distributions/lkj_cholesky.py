"""The LKJ distribution of Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributions import constraints
from oneflow.distributions.beta import Beta
from oneflow.distributions.distribution import Distribution
from oneflow.distributions.parameters import broadcast_all
from oneflow.functional.creation.factory_functions import arange
from oneflow.functional.elementwise.special import mvlgamma
from oneflow.functional.nn.padding import pad
from oneflow.functional.random.creation import randn_like
from oneflow.functional.shape.rearrange import diag_embed
from oneflow.tensor.tensor import Tensor


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices of density ``det(matrix)**(concentration - 1)``.

    Draws follow the onion method of Lewandowski, Kurowicka and Joe, "Generating random correlation
    matrices based on vines and extended onion method" (2009).

    Args:
        dim: number of rows, at least 2.
        concentration: positive; 1 is the uniform distribution of correlation matrices.
        validate_args: check parameters and values.

    Raises:
        ValueError: `dim` is less than 2.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.LKJCholesky(3, 0.5).sample().shape
        oneflow.Size([3, 3])
    """

    arg_constraints: ClassVar = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def _rows(self) -> Tensor:
        """The numbers of the rows after the first one, in the dtype of the parameter."""
        like = self.concentration
        return arange(1, self.dim, dtype=like.dtype, device=like.device)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw matrices."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            # A row is a direction, and the share of its length of 1 that is off the diagonal.
            rows = self._rows()
            rest = self.concentration.unsqueeze(-1) + (self.dim - 1 - rows) / 2
            shares = Beta(rows / 2, rest, validate_args=False).sample(sample_shape)
            shares = pad(shares, (1, 0), value=0.0)
            normal = randn_like(self.concentration[..., None, None].expand(shape)).tril(-1)
            lengths = (normal**2).sum(-1, True).sqrt()
            directions = normal / lengths.where(lengths > 0, lengths + 1)
            off_diagonal = shares.sqrt().unsqueeze(-1) * directions
            return off_diagonal + diag_embed((1 - shares).sqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        count = self.dim - 1
        power = 2 * (self.concentration - 1).unsqueeze(-1) + (count - self._rows())
        diagonal = value.diagonal(dim1=-2, dim2=-1)[..., 1:]
        half = self.concentration + 0.5 * count
        size = 0.5 * count * math.log(math.pi) + mvlgamma(half - 0.5, count) - count * half.lgamma()
        return (power * diagonal.log()).sum(-1) - size
