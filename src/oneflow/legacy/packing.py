"""`oneflow.unpack`, `pack` and `acc`, which divided a job's time, and are refused."""

from __future__ import annotations

from typing import NoReturn

from oneflow.tensor.tensor import Tensor

_HINT = (
    "a job runs as one program, in which every blob has one value per call; let "
    "`FunctionConfig.train.num_gradient_accumulation_steps` divide batches"
)


def unpack(input: Tensor, unpack_num: int, name: str | None = None) -> NoReturn:
    """Refuse to give the operators that follow `unpack_num` parts of a blob, one after the other.

    Raises:
        NotImplementedError: always; says what divides batches instead.

    Example:
        >>> import oneflow as flow
        >>> flow.unpack(flow.ones(4), 2)
        Traceback (most recent call last):
            ...
        NotImplementedError: flow.unpack(): a job runs as one program, in which every ...
    """
    raise NotImplementedError(f"flow.unpack(): {_HINT}")


def acc(one: Tensor, max_acc_num: int, name: str | None = None) -> NoReturn:
    """Refuse to add up the values that a blob has in `max_acc_num` parts of a step.

    Raises:
        NotImplementedError: always; says what divides batches instead.

    Example:
        >>> import oneflow as flow
        >>> flow.acc(flow.ones(4), 2)
        Traceback (most recent call last):
            ...
        NotImplementedError: flow.acc(): a job runs as one program, in which every blo...
    """
    raise NotImplementedError(f"flow.acc(): {_HINT}")


def pack(input: Tensor, pack_num: int, name: str | None = None) -> NoReturn:
    """Refuse to collect `pack_num` parts of a blob.

    Raises:
        NotImplementedError: always; says what divides batches instead.

    Example:
        >>> import oneflow as flow
        >>> flow.pack(flow.ones(4), 2)
        Traceback (most recent call last):
            ...
        NotImplementedError: flow.pack(): a job runs as one program, in which every bl...
    """
    raise NotImplementedError(f"flow.pack(): {_HINT}")
