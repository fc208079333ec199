"""Results of factorizations that may fail, with the check that they have not."""

from __future__ import annotations

from oneflow.base.program_name import PYTORCH, program_name
from oneflow.primitives.operators.linalg import check_info
from oneflow.program.value import Value
from oneflow.runtime.eager import EagerRecorder, is_capturing, read_array
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


def checked(result: Tensor, info: Tensor, message: str) -> Tensor:
    """Return a result, with an error if a matrix of it has failed.

    The error is raised when a value is read. In PyTorch's place it is raised at once, as there:
    programs try a factorization, and go on with another matrix if it fails.

    Args:
        result: what is returned.
        info: per matrix 0, or what went wrong.
        message: the message of the error.
    """
    result = call(check_info, result, info, message=message)
    value = unwrap(result)
    is_recorded = type(value) is Value and isinstance(value.recorder, EagerRecorder)
    if program_name() == PYTORCH and is_recorded and value.spec.sbp is None and not is_capturing():
        read_array(value)
    return result
