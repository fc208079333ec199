"""Upstream's fused products and interactions of features. The compiler fuses their parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow.builtins.operands import require_lists, require_same_shape_and_dtype
from oneflow.functional.creation.factory_functions import zeros
from oneflow.functional.elementwise.activation import gelu, relu
from oneflow.functional.elementwise.clamp import where
from oneflow.functional.linalg.matmul import matmul
from oneflow.functional.nn.dense import linear
from oneflow.functional.nn.dropout import dropout
from oneflow.functional.nn.softmax import softmax
from oneflow.functional.registry import function
from oneflow.functional.shape.concat import cat
from oneflow.random.generator import Generator
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array


@function(method=False, namespace="_C")
def fused_matmul_bias(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    _add_to_output: Tensor | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
) -> Tensor:
    """``alpha * (x @ weight.T) + bias``, plus ``beta * _add_to_output``.

    Example:
        >>> import oneflow as flow
        >>> flow._C.fused_matmul_bias(flow.ones(1, 2), flow.ones(3, 2), flow.ones(3))
        tensor([[3., 3., 3.]], dtype=oneflow.float32)
    """
    y = linear(x, weight, bias) if alpha == 1 else linear(x, weight) * alpha + bias
    return y if _add_to_output is None else y + _add_to_output * beta


@function(method=False, namespace="_C")
def fused_mlp(
    x: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor], skip_final_activation: bool
) -> Tensor:
    """Linear layers in sequence, each with `relu`, except the last if `skip_final_activation`.

    Example:
        >>> import oneflow as flow
        >>> w, b = flow.ones(1, 1), flow.tensor([-2.0])
        >>> flow._C.fused_mlp(flow.ones(1, 1), [w, w], [b, b], True)
        tensor([[-2.]], dtype=oneflow.float32)
    """
    return fused_matmul_bias_add_relu_dropout(
        x, weights, biases, skip_final_activation, [0.0] * len(weights)
    )


@function(method=False, namespace="_C")
def fused_matmul_bias_add_relu_dropout(
    x: Tensor,
    weights: Sequence[Tensor],
    biases: Sequence[Tensor],
    skip_final_activation: bool,
    dropout_rate_list: Sequence[float],
    generator: Generator | None = None,
) -> Tensor:
    """`fused_mlp` with dropout after each layer.

    Args:
        x: input, shape ``(..., features)``.
        weights: the weight of each layer.
        biases: the bias of each layer.
        skip_final_activation: the last layer has no `relu`.
        dropout_rate_list: the part of each layer's results that is dropped.
        generator: where the random numbers come from.

    Raises:
        RuntimeError: the lists differ in length or are empty, or a bias is not a vector.

    Example:
        >>> import oneflow as flow
        >>> w, b = flow.ones(1, 1), flow.tensor([-2.0])
        >>> flow._C.fused_matmul_bias_add_relu_dropout(flow.ones(1, 1), [w], [b], False, [0.0])
        tensor([[0.]], dtype=oneflow.float32)
    """
    require_lists(
        "fused_matmul_bias_add_relu_dropout",
        weights=weights,
        biases=biases,
        dropout_rate_list=dropout_rate_list,
    )
    for bias in biases:
        if bias.ndim != 1:
            raise RuntimeError(f"each of `biases` must be a vector, got shape {list(bias.shape)}")
    last = len(weights) - 1
    layers = zip(weights, biases, dropout_rate_list, strict=True)
    for index, (weight, bias, rate) in enumerate(layers):
        x = linear(x, weight, bias)
        if index < last or not skip_final_activation:
            x = relu(x)
        if rate:
            x = dropout(x, rate, generator=generator)
    return x


@function(method=False, namespace="_C")
def grouped_matmul(xs: Sequence[Tensor], weights: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """``x @ weight.T`` for each pair.

    Raises:
        RuntimeError: the lists differ in length, or are empty.

    Example:
        >>> import oneflow as flow
        >>> flow._C.grouped_matmul([flow.ones(1, 2)], [flow.ones(3, 2)])[0]
        tensor([[2., 2., 2.]], dtype=oneflow.float32)
    """
    require_lists("grouped_matmul", xs=xs, weights=weights)
    return tuple([linear(x, weight) for x, weight in zip(xs, weights, strict=True)])


@function(method=False, namespace="_C")
def grouped_matmul_bias(
    xs: Sequence[Tensor], weights: Sequence[Tensor], biases: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """``x @ weight.T + bias`` for each triple.

    Raises:
        RuntimeError: the lists differ in length, or are empty.

    Example:
        >>> import oneflow as flow
        >>> flow._C.grouped_matmul_bias([flow.ones(1, 2)], [flow.ones(3, 2)], [flow.ones(3)])[0]
        tensor([[3., 3., 3.]], dtype=oneflow.float32)
    """
    require_lists("grouped_matmul_bias", xs=xs, weights=weights, biases=biases)
    return tuple([linear(*operands) for operands in zip(xs, weights, biases, strict=True)])


@function(method=False, namespace="_C")
def fused_weighted_sum(
    in_: Sequence[Tensor], weights: Sequence[float], alpha: float = 1.0
) -> Tensor:
    """The sum of tensors with weights, times `alpha`.

    Raises:
        RuntimeError: the lists differ in length, or are empty; or tensors have several shapes.
        TypeError: the tensors have several dtypes.

    Example:
        >>> import oneflow as flow
        >>> flow._C.fused_weighted_sum([flow.ones(1), flow.ones(1)], [2.0, 3.0], alpha=0.5)
        tensor([2.5000], dtype=oneflow.float32)
    """
    require_lists("fused_weighted_sum", in_=in_, weights=weights)
    require_same_shape_and_dtype(
        "fused_weighted_sum", **{f"in_{i}": tensor for i, tensor in enumerate(in_)}
    )
    first, *others = [tensor * weight for tensor, weight in zip(in_, weights, strict=True)]
    return sum(others, first) * alpha


@function(method=False, namespace="_C")
def fast_gelu(x: Tensor) -> Tensor:
    """`gelu` by its approximation with tanh.

    Example:
        >>> import oneflow as flow
        >>> flow._C.fast_gelu(flow.tensor([1.0]))
        tensor([0.8412], dtype=oneflow.float32)
    """
    return gelu(x, "tanh")


@function(method=False, namespace="_C")
def fused_fast_gelu_mul(x: Tensor, multiplier: Tensor) -> Tensor:
    """`fast_gelu` of `x` times `multiplier`.

    Raises:
        RuntimeError: the two have several shapes.
        TypeError: they have several dtypes.

    Example:
        >>> import oneflow as flow
        >>> flow._C.fused_fast_gelu_mul(flow.tensor([1.0]), flow.tensor([2.0]))
        tensor([1.6824], dtype=oneflow.float32)
    """
    require_same_shape_and_dtype("fused_fast_gelu_mul", x=x, multiplier=multiplier)
    return fast_gelu(x) * multiplier


@function(method=False, namespace="_C")
def fused_glu(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    v: Tensor | None = None,
    c: Tensor | None = None,
    activation: str = "none",
) -> Tensor:
    """A gated linear unit: ``(x @ w.T + b) * activation(x @ v.T + c)``.

    Shazeer, "GLU Variants Improve Transformer" (2020).

    Args:
        x: input, shape ``(..., features)``.
        w: weight; without `v` its second half of rows is the gate's.
        b: bias; likewise.
        v: weight of the gate.
        c: bias of the gate.
        activation: ``"none"``, ``"sigmoid"``, ``"relu"``, ``"gelu"``, ``"fast_gelu"`` or
            ``"silu"``.

    Raises:
        RuntimeError: another activation.

    Example:
        >>> import oneflow as flow
        >>> flow._C.fused_glu(flow.ones(1, 1), flow.tensor([[2.0], [3.0]]), flow.zeros(2))
        tensor([[6.]], dtype=oneflow.float32)
    """
    if v is None:
        hidden, gate = linear(x, w, b).chunk(2, -1)
    else:
        hidden, gate = linear(x, w, b), linear(x, v, c)
    if activation not in _ACTIVATION_OF_GATE:
        raise RuntimeError(
            f"`activation` must be one of {sorted(_ACTIVATION_OF_GATE)}, got {activation!r}"
        )
    return hidden * _ACTIVATION_OF_GATE[activation](gate)


_ACTIVATION_OF_GATE: dict[str, Any] = {
    "none": lambda gate: gate,
    "sigmoid": lambda gate: gate.sigmoid(),
    "relu": relu,
    "gelu": gelu,
    "fast_gelu": fast_gelu,
    "silu": lambda gate: gate.silu(),
}


@function(method=False, namespace="_C", also=("_C.fused_self_attention_query_mul_key_and_value",))
def fused_self_attention(
    hidden_states: Tensor, head_size: int = 8, alpha: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Scores and values of self attention from the product of all three projections.

    Args:
        hidden_states: shape ``(length, batch, heads * 3 * head_size)``: query, key and value of
            the first head, then those of the second, and so on.
        head_size: size of each.
        alpha: factor of the scores.

    Returns:
        Scores of shape ``(batch, heads, length, length)`` and values of shape
        ``(batch, heads, length, head_size)``.

    Example:
        >>> import oneflow as flow
        >>> scores, values = flow._C.fused_self_attention(flow.ones(2, 1, 6), 2, 0.5)
        >>> scores.tolist(), values.shape
        ([[[[1.0, 1.0], [1.0, 1.0]]]], oneflow.Size([1, 1, 2, 2]))
    """
    length, batch, _ = hidden_states.shape
    parts = hidden_states.reshape(length, batch, -1, 3, head_size).permute(3, 1, 2, 0, 4)
    query, key, value = parts.unbind(0)
    return matmul(query, key.transpose(-1, -2)) * alpha, value


@function(method=False, namespace="_C")
def fused_bias_add_scale_mask_softmax_dropout(
    x: Tensor,
    bias: Tensor,
    mask: Tensor,
    *,
    fill_value: float = 0.0,
    scale: float = 1.0,
    p: float = 0.5,
    training: bool = True,
    generator: Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Softmax along the last dimension of masked scores, with and without dropout.

    Args:
        x: scores.
        bias: added to them.
        mask: bool tensor that broadcasts to `x`.
        fill_value: what stands where `mask` is False.
        scale: factor of the sum of `x` and `bias`.
        p: probability of dropping an element.
        training: drop elements.
        generator: where the random numbers come from.

    Example:
        >>> import oneflow as flow
        >>> zeros, mask = flow.zeros(1, 2), flow.ones(1, 2, dtype=flow.bool)
        >>> flow._C.fused_bias_add_scale_mask_softmax_dropout(zeros, zeros, mask, p=0.0)[1]
        tensor([[0.5000, 0.5000]], dtype=oneflow.float32)
    """
    probabilities = softmax(where(mask, (x + bias) * scale, fill_value), -1)
    return dropout(probabilities, p, training, generator=generator), probabilities


@function(method=False, namespace="_C")
def fused_cross_feature_interaction(
    x: Tensor, weight: Tensor, x_0: Tensor, bias: Tensor, interaction_mode: str
) -> Tensor:
    """One layer of a deep and cross network.

    With ``"vector"`` ``x_0 * (x @ weight.T) + bias + x`` (Wang et al., "Deep & Cross Network for Ad
    Click Predictions", 2017); with ``"matrix"`` ``x_0 * (x @ weight.T + bias) + x`` ("DCN V2",
    2021).

    Args:
        x: input, shape ``(batch, features)``.
        weight: shape ``(1, features)``, or ``(features, features)``.
        x_0: input of the first layer.
        bias: shape ``(features,)``.
        interaction_mode: ``"vector"`` or ``"matrix"``.

    Raises:
        RuntimeError: another mode.

    Example:
        >>> import oneflow as flow
        >>> x, w, b = flow.ones(1, 2), flow.ones(1, 2), flow.tensor([0.0, 1.0])
        >>> flow._C.fused_cross_feature_interaction(x, w, x, b, "vector")
        tensor([[3., 4.]], dtype=oneflow.float32)
    """
    if interaction_mode == "vector":
        return x_0 * linear(x, weight) + bias + x
    if interaction_mode == "matrix":
        return x_0 * linear(x, weight, bias) + x
    raise RuntimeError(f"`interaction_mode` must be vector or matrix, got {interaction_mode!r}")


@function(method=False, namespace="_C")
def fused_dot_feature_interaction(
    features: Sequence[Tensor],
    output_concat: Tensor | None = None,
    self_interaction: bool = False,
    output_padding: int = 0,
    pooling: str = "none",
) -> Tensor:
    """Products of all pairs of feature vectors.

    Naumov et al., "Deep Learning Recommendation Model" (2019).

    Args:
        features: vectors of shape ``(batch, count, size)``; all together are paired.
        output_concat: shape ``(batch, n)``; stands in front of the products.
        self_interaction: pairs of a vector with itself, too.
        output_padding: this many zeros follow.
        pooling: ``"none"``; or ``"sum"``: the sum of the products of all pairs, as in a
            factorization machine, with nothing in front or behind.

    Returns:
        ``(batch, n + pairs + output_padding)``; with ``"sum"`` ``(batch, 1)``.

    Raises:
        RuntimeError: no features, another pooling, or ``"sum"`` with `output_concat` or
            `output_padding`.

    Example:
        >>> import oneflow as flow
        >>> features = flow.tensor([[[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]]])
        >>> flow._C.fused_dot_feature_interaction([features])
        tensor([[2., 0., 3.]], dtype=oneflow.float32)
    """
    require_lists("fused_dot_feature_interaction", features=features)
    vectors = cat(list(features), 1) if len(features) > 1 else features[0]
    if pooling == "sum":
        if output_concat is not None or output_padding:
            raise RuntimeError(
                "`pooling` 'sum' takes no `output_concat` and no `output_padding`, got "
                f"{output_concat} and {output_padding}"
            )
        total = vectors.sum(1)
        return (total * total - (vectors * vectors).sum(1)).sum(1, keepdim=True) * 0.5
    if pooling == "none":
        count = vectors.shape[1]
        rows, columns = np.tril_indices(count, 0 if self_interaction else -1)
        indices = import_array(rows * count + columns, None, vectors.device)
        pairs = matmul(vectors, vectors.transpose(1, 2)).reshape(vectors.shape[0], -1)
        products = pairs.index_select(1, indices)
    else:
        raise RuntimeError(f"`pooling` must be none or sum, got {pooling!r}")
    parts = [products] if output_concat is None else [output_concat, products]
    if output_padding:
        size = (products.shape[0], output_padding)
        parts.append(zeros(*size, dtype=products.dtype, device=products.device))
    return cat(parts, 1)
