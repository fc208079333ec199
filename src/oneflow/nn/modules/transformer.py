"""The transformer of "Attention is all you need": layers, stacks of them, and the whole."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType, get_default_dtype
from oneflow.base.placement import parse_device
from oneflow.functional.elementwise.activation import gelu, relu
from oneflow.module.module import Module
from oneflow.nn import init
from oneflow.nn.modules.container import ModuleList
from oneflow.nn.modules.dropout import Dropout
from oneflow.nn.modules.linear import Linear
from oneflow.nn.modules.multi_head_attention import MultiheadAttention
from oneflow.nn.modules.normalization import LayerNorm
from oneflow.primitives.operators.creation import full_float
from oneflow.primitives.operators.rearrange import triu
from oneflow.tensor.call import call, wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tuning.host_memory import OBJECT_SIZE, require_host_memory

Activation = Callable[[Tensor], Tensor]


def _activation(activation: str | Activation) -> Activation:
    """The function called `activation`, or `activation` itself.

    Raises:
        RuntimeError: the name is neither relu nor gelu.
    """
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return relu if activation == "relu" else gelu


def causal_mask(
    size: int, device: Device | str | None = None, dtype: DType | None = None
) -> Tensor:
    """Minus infinity above the diagonal, 0 elsewhere."""
    options = {"dtype": dtype or get_default_dtype(), "device": parse_device(device)}
    return call(triu, wrap(full_float(float("-inf"), shape=(size, size), **options)), 1)


class TransformerEncoderLayer(Module):
    """Self-attention and a feed-forward block, each with a residual connection and a norm.

    Args:
        d_model: size of the input.
        nhead: number of heads.
        dim_feedforward: size inside the feed-forward block.
        dropout: its probability.
        activation: ``"relu"``, ``"gelu"`` or a function.
        layer_norm_eps: the `eps` of the norms.
        batch_first: tensors are ``(batch, length, size)``.
        norm_first: normalise before each block instead of after its residual.
        bias: whether linear layers and norms have biases.
        device: where the parameters live.
        dtype: the dtype of the parameters.

    Attributes:
        self_attn: the `MultiheadAttention`.
        linear1, linear2: the `Linear` layers of the feed-forward block.
        norm1, norm2: a `LayerNorm` for each block.
        dropout, dropout1, dropout2: within the feed-forward block, and after each block.

    Shape:
        src: ``(S, N, d_model)`` or ``(S, d_model)``; with `batch_first` ``(N, S, d_model)``.
        src_mask: ``(S, S)`` or ``(N * nhead, S, S)``.
        src_key_padding_mask: ``(N, S)`` or ``(S)``.
        output: the shape of `src`.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
        >>> layer(flow.ones(5, 2, 8)).shape
        oneflow.Size([5, 2, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **options
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **options)
        self.norm_first = norm_first
        for name in ("norm1", "norm2"):
            setattr(self, name, LayerNorm(d_model, layer_norm_eps, bias=bias, **options))
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _activation(activation)

    def _attributes_in_pytorch(self) -> dict[str, Any]:
        return {"activation_relu_or_gelu": 0}  # one by one, not fused

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        masks = (src_mask, src_key_padding_mask, is_causal)
        if self.norm_first:
            x = src + self._self_attention(self.norm1(src), *masks)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(src + self._self_attention(src, *masks))
        return self.norm2(x + self._ff_block(x))

    def _self_attention(
        self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool
    ) -> Tensor:
        attention_output = self.self_attn(
            x, x, x, padding, need_weights=False, attn_mask=mask, is_causal=is_causal
        )
        return self.dropout1(attention_output[0])

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(Module):
    """Self-attention, attention to the encoder's result, and a feed-forward block.

    Args:
        d_model: size of the input.
        nhead: number of heads.
        dim_feedforward: size inside the feed-forward block.
        dropout: its probability.
        activation: ``"relu"``, ``"gelu"`` or a function.
        layer_norm_eps: the `eps` of the norms.
        batch_first: tensors are ``(batch, length, size)``.
        norm_first: normalise before each block instead of after its residual.
        bias: whether linear layers and norms have biases.
        device: where the parameters live.
        dtype: the dtype of the parameters.

    Attributes:
        self_attn, multihead_attn: a `MultiheadAttention` to the targets and to the memory.
        linear1, linear2: the `Linear` layers of the feed-forward block.
        norm1, norm2, norm3: a `LayerNorm` for each block.
        dropout, dropout1, dropout2, dropout3: within the feed-forward block, and after each block.

    Shape:
        tgt: ``(T, N, d_model)`` or ``(T, d_model)``; with `batch_first` ``(N, T, d_model)``.
        memory: ``(S, N, d_model)`` or ``(S, d_model)``; with `batch_first` ``(N, S, d_model)``.
        tgt_mask: ``(T, T)`` or ``(N * nhead, T, T)``.
        memory_mask: ``(T, S)`` or ``(N * nhead, T, S)``.
        tgt_key_padding_mask: ``(N, T)`` or ``(T)``.
        memory_key_padding_mask: ``(N, S)`` or ``(S)``.
        output: the shape of `tgt`.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
        >>> layer(flow.ones(5, 2, 8), flow.ones(7, 2, 8)).shape
        oneflow.Size([5, 2, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        for name in ("self_attn", "multihead_attn"):
            attention = MultiheadAttention(
                d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **options
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **options)
        self.norm_first = norm_first
        for name in ("norm1", "norm2", "norm3"):
            setattr(self, name, LayerNorm(d_model, layer_norm_eps, bias=bias, **options))
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        self_options = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        cross_options = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            x = self.norm1(tgt)
            tgt = tgt + self.dropout1(_attention_output(self.self_attn, x, x, *self_options))
            attention_output = _attention_output(
                self.multihead_attn, self.norm2(tgt), *cross_options
            )
            tgt = tgt + self.dropout2(attention_output)
            return tgt + self._ff_block(self.norm3(tgt))
        x = self.norm1(
            tgt + self.dropout1(_attention_output(self.self_attn, tgt, tgt, *self_options))
        )
        x = self.norm2(x + self.dropout2(_attention_output(self.multihead_attn, x, *cross_options)))
        return self.norm3(x + self._ff_block(x))

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


def _attention_output(
    attention: MultiheadAttention,
    query: Tensor,
    memory: Tensor,
    mask: Tensor | None,
    padding: Tensor | None,
    is_causal: bool,
) -> Tensor:
    return attention(
        query, memory, memory, padding, need_weights=False, attn_mask=mask, is_causal=is_causal
    )[0]


def _copies(module: Module, count: int) -> ModuleList:
    require_host_memory(type(module).__name__, count, OBJECT_SIZE)
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


class TransformerEncoder(Module):
    """A stack of encoder layers.

    Args:
        encoder_layer: the layer; the stack has copies of it.
        num_layers: the number of layers.
        norm: applied to the result.
        enable_nested_tensor: without effect; PyTorch has it.
        mask_check: without effect; PyTorch has it.

    Attributes:
        layers: a `ModuleList` of the layers.
        norm: the normalization that was given.

    Shape:
        src: the same as for `TransformerEncoderLayer`, like the masks.
        output: the shape of `src`.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
        >>> flow.nn.TransformerEncoder(layer, 2)(flow.ones(5, 2, 8)).shape
        oneflow.Size([5, 2, 8])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """A stack of decoder layers.

    Args:
        decoder_layer: the layer; the stack has copies of it.
        num_layers: the number of layers.
        norm: applied to the result.

    Attributes:
        layers: a `ModuleList` of the layers.
        norm: the normalization that was given.

    Shape:
        tgt, memory: as of `TransformerDecoderLayer`, like the masks.
        output: the shape of `tgt`.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
        >>> flow.nn.TransformerDecoder(layer, 2)(flow.ones(5, 2, 8), flow.ones(7, 2, 8)).shape
        oneflow.Size([5, 2, 8])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, bool(tgt_is_causal), memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """Encoder and decoder.

    Args:
        d_model: size of the inputs.
        nhead: number of heads.
        num_encoder_layers: layers of the encoder.
        num_decoder_layers: layers of the decoder.
        dim_feedforward: size inside the feed-forward blocks.
        dropout: its probability.
        activation: ``"relu"``, ``"gelu"`` or a function.
        custom_encoder: the module in place of the encoder.
        custom_decoder: the module in place of the decoder.
        layer_norm_eps: the `eps` of the norms.
        batch_first: tensors are ``(batch, length, size)``.
        norm_first: normalise before each block instead of after its residual.
        bias: whether linear layers and norms have biases.
        device: where the parameters live.
        dtype: the dtype of the parameters.

    Attributes:
        encoder: a `TransformerEncoder`.
        decoder: a `TransformerDecoder`. Parameters of two and more dimensions of both start as
            by `init.xavier_uniform_`.

    Shape:
        src: ``(S, N, d_model)`` or ``(S, d_model)``; with `batch_first` ``(N, S, d_model)``.
        tgt: ``(T, N, d_model)`` or ``(T, d_model)``; with `batch_first` ``(N, T, d_model)``.
        output: the shape of `tgt`. For masks see `TransformerDecoderLayer`.

    Example:
        >>> import oneflow as flow
        >>> model = flow.nn.Transformer(8, 2, 1, 1, dim_feedforward=16)
        >>> model(flow.ones(7, 2, 8), flow.ones(5, 2, 8)).shape
        oneflow.Size([5, 2, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        flags = (batch_first, norm_first, bias)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, **options)

        if custom_encoder is None:
            layer = TransformerEncoderLayer(*settings, *flags, **options)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*settings, *flags, **options)
            custom_decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        self.encoder = custom_encoder
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return self.decoder(tgt, memory, *masks, tgt_is_causal, memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: Device | str | None = None, dtype: DType | None = None
    ) -> Tensor:
        """The causal mask: minus infinity above the diagonal, 0 elsewhere."""
        return causal_mask(sz, device, dtype)
