"""The reductions of collective operations."""

from __future__ import annotations

import enum

from oneflow.base.dtype import DType


class _ReduceOpType(enum.EnumType):
    """The class of `ReduceOp`, which PyTorch has under a second name."""

    @property
    def RedOpType(cls) -> _ReduceOpType:
        return cls


class ReduceOp(enum.Enum, metaclass=_ReduceOpType):
    """The way a collective operation combines the tensors of the processes.

    Means are of floating and complex numbers, the smallest and largest of real ones, and the
    bitwise operations of integers and booleans.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([1.0, 2.0])
        >>> flow.distributed.all_reduce(x, op=flow.distributed.ReduceOp.MAX)
        >>> x.tolist()
        [1.0, 2.0]
    """

    SUM = "sum"
    AVG = "mean"
    PRODUCT = "product"
    MIN = "minimum"
    MAX = "maximum"
    BAND = "bitwise and"
    BOR = "bitwise or"
    BXOR = "bitwise exclusive or"

    def check(self, dtype: DType) -> None:
        """Check that there is such a reduction of a dtype.

        Raises:
            RuntimeError: there is none.
        """
        is_exact = not (dtype.is_floating_point or dtype.is_complex)
        unsupported = {
            ReduceOp.AVG: is_exact,
            ReduceOp.MIN: dtype.is_complex,
            ReduceOp.MAX: dtype.is_complex,
            ReduceOp.BAND: not is_exact,
            ReduceOp.BOR: not is_exact,
            ReduceOp.BXOR: not is_exact,
        }
        if unsupported.get(self, False):
            raise RuntimeError(f"ReduceOp.{self.name}: there is no {self.value} of {dtype.name}")
