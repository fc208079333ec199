"""Multi-head attention as a module."""

from __future__ import annotations

from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.functional.nn.multi_head_attention import multi_head_attention_forward
from oneflow.module.module import Module
from oneflow.module.parameter import new_parameter
from oneflow.nn import init
from oneflow.nn.modules.linear import _NonDynamicallyQuantizableLinear
from oneflow.tensor.tensor import Tensor


class MultiheadAttention(Module):
    """Many heads of scaled dot-product attention between projections.

    Args:
        embed_dim: size of queries and results.
        num_heads: number of heads; divides `embed_dim`.
        dropout: probability of a weight to be dropped in training.
        bias: whether projections have biases.
        add_bias_kv: append a learnable key and value.
        add_zero_attn: append a key and a value of zeros.
        kdim: size of keys; default `embed_dim`.
        vdim: size of values; default `embed_dim`.
        batch_first: tensors are ``(batch, length, size)``.
        device: where the parameters live.
        dtype: the dtype of the parameters.

    Attributes:
        in_proj_weight: the weights of query, key and value one below the other, ``(3 * embed_dim,
            embed_dim)``, at first uniform in ``[-bound, bound]`` with ``bound = sqrt(6 / (4 *
            embed_dim))``; None for other sizes of keys or values.
        q_proj_weight, k_proj_weight, v_proj_weight: in its place then, ``(embed_dim, embed_dim)``,
            ``(embed_dim, kdim)`` and ``(embed_dim, vdim)``, `init.xavier_uniform_`.
        in_proj_bias: ``(3 * embed_dim,)``, at first zeros; None without `bias`.
        bias_k, bias_v: ``(1, 1, embed_dim)``, `init.xavier_normal_`; None without `add_bias_kv`.
        out_proj: the `Linear` layer after the heads; its bias starts as zeros.

    Shape:
        query: ``(L, N, embed_dim)`` or ``(L, embed_dim)``; ``(N, L, embed_dim)`` if `batch_first`.
        key: ``(S, N, kdim)`` or ``(S, kdim)``; ``(N, S, kdim)`` if `batch_first`.
        value: ``(S, N, vdim)`` or ``(S, vdim)``; ``(N, S, vdim)`` if `batch_first`.
        key_padding_mask: ``(N, S)`` or ``(S)``.
        attn_mask: ``(L, S)`` or ``(N * num_heads, L, S)``.
        output: the shape of the query.
        weights: ``(N, L, S)`` or ``(L, S)``, averaged over heads; else ``(N, num_heads, L, S)``;
            None without `need_weights`.

    Raises:
        ValueError: a size is not positive.
        AssertionError: `num_heads` does not divide `embed_dim`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(5, 2, 8)
        >>> y, weights = flow.nn.MultiheadAttention(8, 2)(x, x, x)
        >>> y.shape, weights.shape
        (oneflow.Size([5, 2, 8]), oneflow.Size([2, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.add_zero_attn = add_zero_attn
        self.batch_first = batch_first
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError(
                f"embed_dim {embed_dim} must be divisible by num_heads {num_heads}"
            )
        self._add_parameters(bias, add_bias_kv, device, dtype)
        self.out_proj = _NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        self._reset_parameters()

    def _attributes_in_pytorch(self) -> dict[str, Any]:
        return {"_qkv_same_embed_dim": self.kdim == self.vdim == self.embed_dim}

    def _add_parameters(
        self, bias: bool, add_bias_kv: bool, device: Device | str | None, dtype: DType | None
    ) -> None:
        size = self.embed_dim
        is_packed = self.kdim == self.vdim == size
        shapes = {
            "in_proj_weight": (3 * size, size) if is_packed else None,
            "q_proj_weight": None if is_packed else (size, size),
            "k_proj_weight": None if is_packed else (size, self.kdim),
            "v_proj_weight": None if is_packed else (size, self.vdim),
            "in_proj_bias": (3 * size,) if bias else None,
            "bias_k": (1, 1, size) if add_bias_kv else None,
            "bias_v": (1, 1, size) if add_bias_kv else None,
        }
        for name, shape in shapes.items():
            parameter = None if shape is None else new_parameter(shape, dtype, device)
            self.register_parameter(name, parameter)

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if self._parameters[name] is not None:
                init.xavier_uniform_(self._parameters[name])
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        swap = self.batch_first and query.ndim == 3
        if swap:
            query, key, value = _length_first(query, key, value)
        result, weights = multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            self.in_proj_weight is None,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return result.transpose(0, 1) if swap else result, weights


def _length_first(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value with length and batch swapped; equal objects stay one object."""
    new_query = query.transpose(0, 1)
    new_key = new_query if key is query else key.transpose(0, 1)
    new_value = new_key if value is key else value.transpose(0, 1)
    return new_query, new_key, new_value
