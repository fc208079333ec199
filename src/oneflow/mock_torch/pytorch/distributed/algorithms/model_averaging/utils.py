"""``torch.distributed.algorithms.model_averaging.utils``: means of parameters over processes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oneflow import Tensor, distributed
from oneflow.autograd import no_grad
from oneflow.distributed.groups import ProcessGroup, is_outside
from oneflow.functional.shape.dense import flatten_dense_tensors
from oneflow.mock_torch.pytorch.distributed.coalesced import put_elements


@no_grad()
def average_parameters(params: Iterable[Tensor], process_group: ProcessGroup | None) -> None:
    """Replace parameters by their means over the processes of a group; one operation for all.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch.distributed.algorithms.model_averaging import utils
        >>> w = flow.nn.Parameter(flow.ones(2))
        >>> utils.average_parameters([w], None)
        >>> w.tolist()
        [1.0, 1.0]
    """
    parameters = [parameter.data for parameter in params]
    if is_outside(process_group) or not parameters:
        return
    flat = flatten_dense_tensors(parameters)
    flat /= distributed.get_world_size(process_group)
    distributed.all_reduce(flat, group=process_group)
    put_elements(flat, parameters)


def get_params_to_average(params: Iterable[Any]) -> list[Tensor]:
    """Return the parameters that have a gradient, of a model or of an optimizer's groups.

    Raises:
        NotImplementedError: something is neither a parameter nor a group.
    """
    parameters: list[Tensor] = []
    for entry in params:
        if not isinstance(entry, Tensor | dict):
            raise NotImplementedError(
                "expected parameters, or groups of an optimizer, to average, got "
                f"{type(entry).__name__}"
            )
        parameters += entry["params"] if isinstance(entry, dict) else [entry]
    return [parameter for parameter in parameters if parameter.grad is not None]


def average_parameters_or_parameter_groups(
    params: Iterable[Any], process_group: ProcessGroup | None
) -> None:
    """Replace the parameters that have a gradient by their means over the processes."""
    average_parameters(get_params_to_average(params), process_group)


__all__ = [
    "average_parameters",
    "average_parameters_or_parameter_groups",
    "get_params_to_average",
]
