"""Layers as PyTorch has them at its top level, where their arguments have another order."""

from __future__ import annotations

from oneflow.functional.nn import embedding as tables, normalization
from oneflow.functional.registry import function
from oneflow.tensor.tensor import Tensor


@function(method=False)
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """`nn.functional.batch_norm` with weight and bias before the statistics.

    `cudnn_enabled` changes nothing.

    Example:
        >>> import oneflow as flow
        >>> flow.batch_norm(flow.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0)
        tensor([[-1.],
                [ 1.]], dtype=oneflow.float32)
    """
    statistics = running_mean, running_var
    return normalization.batch_norm(input, *statistics, weight, bias, training, momentum, eps)


@function(method=False)
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """`nn.functional.instance_norm` with weight and bias before the statistics.

    `cudnn_enabled` changes nothing.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[[1.0, 3.0]]])
        >>> flow.instance_norm(x, None, None, None, None, True, 0.1, 0.0).tolist()
        [[[-1.0, 1.0]]]
    """
    statistics = running_mean, running_var
    return normalization.instance_norm(
        input, *statistics, weight, bias, use_input_stats, momentum, eps
    )


@function(method=False)
def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """`nn.functional.embedding` with the table first; a negative `padding_idx` is no padding.

    Example:
        >>> import oneflow as flow
        >>> flow.embedding(flow.tensor([[1.0], [2.0]]), flow.tensor([1, 0])).tolist()
        [[2.0], [1.0]]
    """
    return tables.embedding(
        indices,
        weight,
        None if padding_idx < 0 else padding_idx,
        scale_grad_by_freq=scale_grad_by_freq,
        sparse=sparse,
    )
