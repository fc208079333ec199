"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from oneflow.distributions import constraints
from oneflow.distributions.gamma import Gamma
from oneflow.functional.creation.factory_functions import full_like
from oneflow.tensor.tensor import Tensor


class Chi2(Gamma):
    """The chi-squared distribution: a sum of squares of normal numbers.

    Args:
        df: degrees of freedom: the number of squares, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Chi2(3.0).mean
        tensor(3., dtype=oneflow.float32)
    """

    arg_constraints: ClassVar = {"df": constraints.positive}
    df: Tensor

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, df=df)
        self.concentration, self.rate = self.df / 2, full_like(self.df, 0.5)
