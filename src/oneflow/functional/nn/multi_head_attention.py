"""Many heads of attention between projections."""

from __future__ import annotations

import math
from dataclasses import dataclass

from oneflow.base.dtype import Category
from oneflow.functional.nn.attention import scaled_dot_product_attention
from oneflow.functional.nn.dense import linear
from oneflow.functional.nn.dropout import dropout
from oneflow.functional.nn.softmax import softmax
from oneflow.functional.registry import function
from oneflow.primitives.operators import elementwise as p
from oneflow.primitives.operators.creation import zeros
from oneflow.primitives.operators.matmul import matmul
from oneflow.primitives.operators.reduce import mean
from oneflow.primitives.operators.shape import broadcast_to, concat, pad, reshape, split, transpose
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call, wrap
from oneflow.tensor.tensor import Tensor


def float_mask(mask: Tensor, like: Tensor, name: str) -> Tensor:
    """A mask to add to scores: bool ones, true where a key is hidden, become minus infinity.

    Raises:
        AssertionError: the mask is neither bool nor floating point.
    """
    if mask.dtype.is_floating_point:
        return mask
    if mask.dtype.category is not Category.BOOL:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    options = {"shape": (), "dtype": like.dtype, "device": like.device}
    zero = wrap(zeros(**options))
    return call(p.where, mask, call(p.sub, zero, float("inf")), zero)


@dataclass(frozen=True)
class AttentionParameters:
    """The learnable part of multi-head attention.

    Attributes:
        packed: weight of query, key and value in one, or None.
        unpacked: the three weights, where `packed` is None.
        bias: the bias of all three, or None.
        key_bias: a key appended to all keys, or None.
        value_bias: its value.
        out_weight: weight of the result's projection.
        out_bias: its bias, or None.
    """

    packed: Tensor | None
    unpacked: tuple[Tensor, ...]
    bias: Tensor | None
    key_bias: Tensor | None
    value_bias: Tensor | None
    out_weight: Tensor
    out_bias: Tensor | None

    def heads(
        self, query: Tensor, key: Tensor, value: Tensor, count: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Projected ``(batch, length, size)`` as ``(batch, heads, length, size)``."""
        q, k, v = self._project(query, key, value)
        if self.key_bias is not None and self.value_bias is not None:
            k = call(concat, k, _repeated(self.key_bias, k), dim=1)
            v = call(concat, v, _repeated(self.value_bias, v), dim=1)
        return _split_heads(q, count), _split_heads(k, count), _split_heads(v, count)

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        size = query.shape[-1]
        if self.packed is None:
            biases = self._split(self.bias, (size,) * 3)
            pairs = zip((query, key, value), self.unpacked, biases, strict=True)
            return tuple([linear(x, weight, bias) for x, weight, bias in pairs])
        if query is key and key is value:
            packed = linear(query, self.packed, self.bias)
            return call(split, packed, sizes=(size,) * 3, dim=packed.ndim - 1)
        if key is value:
            sizes = (size, 2 * size)
            weights, biases = self._split(self.packed, sizes), self._split(self.bias, sizes)
            both = linear(key, weights[1], biases[1])
            return (
                linear(query, weights[0], biases[0]),
                *call(split, both, sizes=(size, size), dim=both.ndim - 1),
            )
        weights, biases = (self._split(x, (size,) * 3) for x in (self.packed, self.bias))
        pairs = zip((query, key, value), weights, biases, strict=True)
        return tuple([linear(x, weight, bias) for x, weight, bias in pairs])

    def _split(self, tensor: Tensor | None, sizes: tuple[int, ...]) -> tuple:
        if tensor is None:
            return (None,) * len(sizes)
        return call(split, tensor, sizes=sizes, dim=0)


def _repeated(extra: Tensor, like: Tensor) -> Tensor:
    """The appended key or value for every sequence: ``(batch, 1, size)``."""
    return call(broadcast_to, extra, shape=(like.shape[0], 1, extra.shape[-1]))


def _swapped(x: Tensor) -> Tensor:
    """``(length, batch, size)`` as ``(batch, length, size)``, or the other way round."""
    return call(transpose, x, perm=(1, 0, 2))


def _batch_first(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The three as ``(batch, length, size)``; equal objects stay one object.

    Kernels of attention have batches first. Nothing is transposed if the user's tensors have them
    first, too; else the operands of the projections are, which have fewer elements than the
    results.
    """
    new_query = _swapped(query)
    new_key = new_query if key is query else _swapped(key)
    return new_query, new_key, new_key if value is key else _swapped(value)


def _split_heads(x: Tensor, heads: int) -> Tensor:
    batch, length, size = x.shape
    parts = call(reshape, x, shape=(batch, length, heads, size // heads))
    return call(transpose, parts, perm=(0, 2, 1, 3))


def _merged_heads(x: Tensor) -> Tensor:
    batch, heads, length, size = x.shape
    return call(reshape, call(transpose, x, perm=(0, 2, 1, 3)), shape=(batch, length, heads * size))


def _with_zero_key(x: Tensor) -> Tensor:
    return _append_zero(x, 2)


def _append_zero(x: Tensor, dim: int) -> Tensor:
    """`x` with one element of zeros more along `dim`."""
    high = tuple(int(axis == dim) for axis in range(x.ndim))
    none = (0,) * x.ndim
    return call(pad, x, 0, low=none, high=high, interior=none)


def _full_mask(
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
    q: Tensor,
    k_len: int,
    is_added: bool,
) -> Tensor | None:
    """Both masks in one that broadcasts to ``(batch, heads, queries, keys)``.

    Masks of truth values stay such a one, true where a key is seen, unless it has to be added:
    fused kernels take it.
    """
    batch, heads, q_len, _ = q.shape
    masks = []
    if attn_mask is not None:
        mask = attn_mask
        if mask.ndim == 3:
            _expect(mask, (batch * heads, q_len, k_len), "3D attn_mask")
            mask = call(reshape, mask, shape=(batch, heads, q_len, k_len))
        elif mask.ndim == 2:
            _expect(mask, (q_len, k_len), "2D attn_mask")
        else:
            raise RuntimeError(f"attn_mask's dimension {mask.ndim} is not supported")
        masks.append((mask, "attn_mask"))
    if key_padding_mask is not None:
        _expect(key_padding_mask, (batch, k_len), "key_padding_mask")
        padding = call(reshape, key_padding_mask, shape=(batch, 1, 1, k_len))
        masks.append((padding, "key_padding_mask"))
    if not masks:
        return None
    if not is_added and all(mask.dtype.category is Category.BOOL for mask, _ in masks):
        return call(p.logical_not, _joined([mask for mask, _ in masks], p.logical_or))
    return _joined([float_mask(mask, q, name) for mask, name in masks], p.add)


def _joined(masks: list[Tensor], operator: Primitive) -> Tensor:
    return masks[0] if len(masks) == 1 else call(operator, *masks)


def _expect(mask: Tensor, shape: tuple[int, ...], name: str) -> None:
    if tuple(mask.shape) != shape:
        raise RuntimeError(
            f"The shape of the {name} is {tuple(mask.shape)}, but should be {shape}."
        )


def _explicit(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float
) -> tuple[Tensor, Tensor]:
    """The result and the matrix of weights."""
    scaled = call(p.mul, q, 1.0 / math.sqrt(q.shape[-1]))
    scores = call(matmul, scaled, call(transpose, k, perm=(0, 1, 3, 2)))
    weights = softmax(scores if mask is None else call(p.add, scores, mask), -1)
    weights = dropout(weights, dropout_p) if dropout_p else weights
    return call(matmul, weights, v), weights


@dataclass(frozen=True)
class AttentionOptions:
    """Options of multi-head attention.

    Attributes:
        heads: number of heads.
        dropout: probability of a weight to be dropped.
        need_weights: give the weights too.
        average_weights: their mean over the heads.
        zero_key: append a key and a value of zeros.
        is_causal: the mask given is the causal one.
    """

    heads: int
    dropout: float = 0.0
    need_weights: bool = True
    average_weights: bool = True
    zero_key: bool = False
    is_causal: bool = False


def batched_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    parameters: AttentionParameters,
    options: AttentionOptions,
    key_padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention of ``(length, batch, size)`` tensors.

    Returns:
        The result and, if they are needed, the weights ``(batch, [heads,] queries, keys)``.
    """
    if options.is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    q, k, v = parameters.heads(*_batch_first(query, key, value), options.heads)
    if parameters.key_bias is not None:
        attn_mask, key_padding_mask = _extended_masks(attn_mask, key_padding_mask)
    if options.zero_key:
        k, v = _with_zero_key(k), _with_zero_key(v)
        attn_mask, key_padding_mask = _extended_masks(attn_mask, key_padding_mask)
    causal = options.is_causal and key_padding_mask is None and not options.need_weights
    masks = (attn_mask, key_padding_mask)
    mask = None if causal else _full_mask(*masks, q, k.shape[2], is_added=options.need_weights)
    weights = None
    if options.need_weights:
        mixed, weights = _explicit(q, k, v, mask, options.dropout)
        if options.average_weights:
            weights = call(mean, weights, dims=(1,))
    else:
        mixed = scaled_dot_product_attention(q, k, v, mask, options.dropout, causal)
    result = linear(_merged_heads(mixed), parameters.out_weight, parameters.out_bias)
    return _swapped(result), weights


def _extended_masks(*masks: Tensor | None) -> tuple[Tensor | None, ...]:
    """Masks for one key more, which is seen."""
    return tuple([mask if mask is None else _append_zero(mask, mask.ndim - 1) for mask in masks])


def _check_ranks(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    heads: int,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
) -> None:
    """Check that all tensors have sequences in a batch, or none has.

    Raises:
        AssertionError: some have, or a mask has another number of dimensions.
    """
    ndim = query.ndim
    if key.ndim != ndim or value.ndim != ndim:
        raise AssertionError(
            f"expected `key` and `value` to be {ndim}-D but found {key.ndim}-D and {value.ndim}-D "
            "tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.ndim != ndim - 1:
        raise AssertionError(
            f"expected `key_padding_mask` to be `None` or {ndim - 1}-D but found "
            f"{key_padding_mask.ndim}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.ndim not in (2, 3):
        raise AssertionError(
            f"expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.ndim}-D tensor"
        )
    if ndim == 2 and attn_mask is not None and attn_mask.ndim == 3:
        expected = (heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != expected:
            raise AssertionError(
                f"Expected `attn_mask` shape to be {expected} but got {tuple(attn_mask.shape)}"
            )


@function(method=False, namespace="nn.functional")
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention with its parameters given one by one, as PyTorch has it.

    Args:
        query: shape ``(L, N, E)`` or ``(L, E)``.
        key: shape ``(S, N, E)`` or ``(S, E)``.
        value: shape of `key`.
        embed_dim_to_check: the size ``E`` expected.
        num_heads: number of heads.
        in_proj_weight: projects query, key and value, shape ``(3 E, E)``.
        in_proj_bias: shape ``(3 E,)``.
        bias_k: a key appended to all keys.
        bias_v: its value.
        add_zero_attn: append a key and a value of zeros.
        dropout_p: probability of a weight to be dropped in training.
        out_proj_weight: projects the result.
        out_proj_bias: its bias.
        training: whether dropout is on.
        key_padding_mask: true where a key of a sequence does not count, shape ``(N, S)``.
        need_weights: give the weights too.
        attn_mask: true where a query must not see a key, or added to the scores.
        use_separate_proj_weight: use the three weights that follow.
        q_proj_weight: projects the query.
        k_proj_weight: projects the key.
        v_proj_weight: projects the value.
        static_k: must be None.
        static_v: must be None.
        average_attn_weights: give the weights' mean over the heads.
        is_causal: `attn_mask` is the causal one.

    Returns:
        The result and the weights, or None in their place.

    Raises:
        AssertionError: tensors or masks have other numbers of dimensions than the query.
        NotImplementedError: `static_k` or `static_v` is given.

    Example:
        >>> import oneflow as flow
        >>> mha = flow.nn.MultiheadAttention(8, 2)
        >>> x = flow.ones(4, 1, 8)
        >>> y, _ = flow.nn.functional.multi_head_attention_forward(
        ...     x, x, x, 8, 2, mha.in_proj_weight, mha.in_proj_bias, None, None, False, 0.0,
        ...     mha.out_proj.weight, mha.out_proj.bias)
        >>> y.shape
        oneflow.Size([4, 1, 8])
    """
    _check_no_static(static_k, static_v)
    _check_ranks(query, key, value, num_heads, key_padding_mask, attn_mask)
    _require_size(query, embed_dim_to_check, num_heads)
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else ()
    packed = None if use_separate_proj_weight else in_proj_weight
    parameters = AttentionParameters(
        packed,
        _given_weights(packed, separate),
        in_proj_bias,
        bias_k,
        bias_v,
        out_proj_weight,
        out_proj_bias,
    )
    probability = dropout_p if training else 0.0
    options = AttentionOptions(
        num_heads, probability, need_weights, average_attn_weights, add_zero_attn, is_causal
    )
    run = batched_attention if query.ndim == 3 else _unbatched_attention
    return run(query, key, value, parameters, options, key_padding_mask, attn_mask)


def _check_no_static(*tensors: Tensor | None) -> None:
    if tensors != (None, None):
        raise NotImplementedError(
            "projected keys and values are not taken; `scaled_dot_product_attention` takes them"
        )


def _given_weights(
    packed: Tensor | None, separate: tuple[Tensor | None, ...]
) -> tuple[Tensor, ...]:
    """The separate weights; all are required without a packed weight.

    Raises:
        AssertionError: a weight is None.
    """
    weights = tuple([weight for weight in separate if weight is not None])
    if packed is None and len(weights) < 3:
        names = "q_proj_weight, k_proj_weight and v_proj_weight" if separate else "in_proj_weight"
        raise AssertionError(f"multi_head_attention_forward(): {names} must not be None")
    return weights


def _unbatched_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    parameters: AttentionParameters,
    options: AttentionOptions,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention of ``(length, size)`` tensors."""
    if query.ndim != 2:
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query "
            "tensor"
        )
    padding = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    batched = _batched(query, key, value)
    result, weights = batched_attention(*batched, parameters, options, padding, attn_mask)
    return result.squeeze(1), None if weights is None else weights.squeeze(0)


def _require_size(query: Tensor, size: int, heads: int) -> None:
    if query.shape[-1] != size:
        raise AssertionError(
            f"was expecting embedding dimension of {size}, but got {query.shape[-1]}"
        )
    if size % heads:
        raise AssertionError(f"embed_dim {size} not divisible by num_heads {heads}")


def _batched(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Add a batch of one; tensors that are the same object stay the same object."""
    wide_query = query.unsqueeze(1)
    wide_key = wide_query if query is key else key.unsqueeze(1)
    return wide_query, wide_key, wide_key if key is value else value.unsqueeze(1)
