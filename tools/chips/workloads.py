"""The programs that are compared, each written for this package and for JAX."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from benchmarks import onnx_models
from benchmarks.jax_steps import (
    bert_base,
    gpt as jax_gpt,
    layers,
    llama as jax_llama,
    resnet50,
    unet as jax_unet,
    wide_deep as jax_wide_deep,
)
from benchmarks.jax_steps.lstm import lstm_step
from benchmarks.jax_steps.step import Step, sgd_step
from benchmarks.jax_steps.vision import MODELS
from benchmarks.models import gpt, llama, lstm, resnet50 as our_resnet50, unet, vision, wide_deep
from benchmarks.models.training import Training
from jax.sharding import PartitionSpec

import oneflow as flow
import oneflow.nn.functional as F
from oneflow import nn


@dataclass(frozen=True)
class Workload:
    """One program.

    Attributes:
        graph: from a placement and the SBP of a batch to a graph and its arguments.
        jax: from a device type to a jitted function, its state and its batch, both abstract.
        batch_dim: the dimension of the batch that is split over chips; None: each has all of it.
        layout: from JAX's state to the `PartitionSpec` of each array before and after the step;
            None: each chip has all of it.
    """

    graph: Callable[[Any, Any], tuple[Any, tuple]]
    jax: Callable[[str], tuple[Any, tuple, tuple]]
    batch_dim: int | None = 0
    layout: Callable[[tuple], tuple] | None = None


class Function(nn.Graph):
    """A function of tensors, and the gradients of the sum of its result."""

    def __init__(self, function: Callable) -> None:
        super().__init__()
        self.function = function

    def build(self, *args: Any) -> Any:
        """The result and the gradients."""
        leaves = [
            argument.detach().requires_grad_() if argument.dtype.is_floating_point else argument
            for argument in args
        ]
        result = self.function(*leaves)
        leaves = [leaf for leaf in leaves if leaf.dtype.is_floating_point]
        return (result, *flow.autograd.grad(result.float().sum(), leaves))


class TrainingGraph(nn.Graph):
    """A training step."""

    def __init__(self, training: Training, half: bool, zero: int, reduce_dtype: Any) -> None:
        super().__init__()
        self.model, self.loss_of = training.model, training.loss_of
        self.add_optimizer(training.optimizer)
        if half:
            self.config.enable_amp(True, dtype=flow.bfloat16, reduce_dtype=reduce_dtype)
        if zero:
            self.config.enable_zero(stage=zero, shard_min_size=1)

    def build(self, *args: Any) -> Any:
        """The loss, after the step."""
        loss = self.loss_of(self.model, *args)
        loss.backward()
        return loss


def _tensor(placement: Any, *shape: int, dtype: Any = flow.bfloat16) -> Any:
    return flow.zeros(*shape, dtype=dtype, placement=placement, sbp=flow.sbp.broadcast)


def _abstract(*shape: int, dtype: Any = jnp.bfloat16) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)


def _jax_gradients(function: Callable, count: int) -> Any:
    """As `Function`, of the first `count` arguments."""

    def scalar(*args: Any) -> Any:
        result = function(*args)
        return result.astype(jnp.float32).sum(), result

    def run(*args: Any) -> Any:
        differentiated = jax.value_and_grad(scalar, tuple(range(count)), has_aux=True)
        (_, result), gradients = differentiated(*args)
        return (result, *gradients)

    return jax.jit(run)


def _training(
    build: Callable,
    jax_step: Callable,
    half: bool = True,
    zero: int = 0,
    splits: Mapping[str, int] | None = None,
    reduce_dtype: Any = None,
    **options: Any,
) -> Workload:
    """A training step of `benchmarks`.

    Args:
        build: `build(make_step=...)` is ours.
        jax_step: `jax_step()` is JAX's.
        half: ours computes under autocast.
        zero: the stage of ZeRO.
        splits: the dimension of each of our parameters that is split over chips, by the end of
            its name.
        reduce_dtype: in which our devices may add up gradients.
        options: of the `Workload`.
    """

    def graph(placement: Any, split: Any) -> tuple[Any, tuple]:
        training = build(flow, make_step=lambda training: training)
        training.model.to_global(placement, flow.sbp.broadcast)
        for name, parameter in training.model.named_parameters():
            for end, dim in (splits or {}).items():
                if name.endswith(end):
                    parameter.data = parameter.data.to_global(sbp=flow.sbp.split(dim))
        inputs = tuple(
            tensor.to_global(placement, flow.sbp.broadcast).to_global(sbp=split)
            for tensor in training.inputs
        )
        return TrainingGraph(training, half, zero, reduce_dtype), inputs

    def in_jax(type: str) -> tuple[Any, tuple, tuple]:
        step = jax_step()
        kept: Step = step.func
        return kept.compiled, tuple(kept.state), step.args

    return Workload(graph, in_jax, **options)


def _attention(
    heads: int = 12, groups: int = 12, causal: bool = True, batch: int = 8, length: int = 1024
) -> Workload:
    size = 64

    def attend(*args: Any) -> Any:
        q, k, v = (argument.transpose(1, 2) for argument in args)
        mixed = F.scaled_dot_product_attention(
            q, k, v, is_causal=causal, enable_gqa=heads != groups
        )
        return mixed.transpose(1, 2)

    def graph(placement: Any, split: Any) -> tuple[Any, tuple]:
        q, k = (_tensor(placement, batch, length, count, size) for count in (heads, groups))
        return Function(attend), (q, k, k)

    def in_jax(type: str) -> tuple[Any, tuple, tuple]:
        q, k = (_abstract(batch, length, count, size) for count in (heads, groups))
        kind = "cudnn" if type == "cuda" else "xla"
        run = functools.partial(jax.nn.dot_product_attention, is_causal=causal, implementation=kind)
        return _jax_gradients(lambda q, k, v: run(q, k, v), 3), (), (q, k, k)

    return Workload(graph, in_jax, batch_dim=None)


def _key_padding(batch: int = 8, length: int = 1024, heads: int = 12) -> Workload:
    """Attention with a mask for padding."""
    shape, seen = (batch, length, heads, 64), (batch, 1, 1, length)

    def attend(q: Any, k: Any, v: Any, mask: Any) -> Any:
        q, k, v = (argument.transpose(1, 2) for argument in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2)

    def graph(placement: Any, split: Any) -> tuple[Any, tuple]:
        mask = _tensor(placement, *seen, dtype=flow.bool)
        return Function(attend), (*(_tensor(placement, *shape) for _ in range(3)), mask)

    def in_jax(type: str) -> tuple[Any, tuple, tuple]:
        kind = "cudnn" if type == "cuda" else "xla"

        def run(q: Any, k: Any, v: Any, mask: Any) -> Any:
            if kind == "cudnn":  # Which takes matrices alone.
                mask = jnp.broadcast_to(mask, (batch, 1, length, length))
            return jax.nn.dot_product_attention(q, k, v, mask=mask, implementation=kind)

        mask = _abstract(*seen, dtype=jnp.bool_)
        return _jax_gradients(run, 3), (), (*(_abstract(*shape) for _ in range(3)), mask)

    return Workload(graph, in_jax, batch_dim=None)


def _written_block(batch: int = 8, length: int = 1024, width: int = 768) -> Workload:
    """A layer of nanoGPT, which writes attention out: a mask from outside, and `masked_fill`."""
    heads = 12

    def ours(x: Any, mask: Any, *p: Any) -> Any:
        hidden = F.linear(F.layer_norm(x, (width,), p[0], p[1]), p[2], p[3])
        q, k, v = (
            part.view(batch, length, heads, width // heads).transpose(1, 2)
            for part in hidden.split(width, dim=2)
        )
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(mask == 0, float("-inf"))
        mixed = F.softmax(scores, dim=-1) @ v
        mixed = mixed.transpose(1, 2).contiguous().view(batch, length, width)
        x = x + F.linear(mixed, p[4], p[5])
        hidden = F.gelu(F.linear(F.layer_norm(x, (width,), p[6], p[7]), p[8], p[9]))
        return x + F.linear(hidden, p[10], p[11])

    norm, dense = ((width,), (width,)), ((width, width), (width,))
    wide = ((3 * width, width), (3 * width,))
    up, down = ((4 * width, width), (4 * width,)), ((width, 4 * width), (width,))

    def graph(placement: Any, split: Any) -> tuple[Any, tuple]:
        shapes = itertools.chain(norm, wide, dense, norm, up, down)
        mask = _tensor(placement, 1, 1, length, length, dtype=flow.int8)
        weights = (_tensor(placement, *shape) for shape in shapes)
        return Function(ours), (_tensor(placement, batch, length, width), mask, *weights)

    def in_jax(type: str) -> tuple[Any, tuple, tuple]:
        x = _abstract(batch, length, width)
        run = functools.partial(jax_gpt.block, keys=itertools.repeat(None), heads=heads, rate=0)
        p = jax_gpt.block_parameters(width)
        return _jax_gradients(run, 2), (), (x, jax.tree.map(lambda w: _abstract(*w.shape), p))

    return Workload(graph, in_jax, batch_dim=None)


def _padded_attention(batch: int = 8, length: int = 1024, heads: int = 12) -> Workload:
    """Attention as GPT-2 of transformers writes it, by `einsum`: its own mask, one for padding."""
    lowest = float(jnp.finfo(jnp.bfloat16).min)

    def ours(q: Any, k: Any, v: Any, seen: Any, padding: Any) -> Any:
        scores = flow.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.size(-1))
        scores = flow.where(seen, scores, lowest) + padding.to(q.dtype) * lowest
        return flow.einsum("bhqk,bkhd->bqhd", F.softmax(scores, dim=-1), v)

    def plain(q: Any, k: Any, v: Any, seen: Any, padding: Any) -> Any:
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1])
        scores = jnp.where(seen, scores, lowest) + padding.astype(q.dtype) * lowest
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)

    shape, seen, padding = (batch, length, heads, 64), (1, 1, length, length), (batch, 1, 1, length)

    def graph(placement: Any, split: Any) -> tuple[Any, tuple]:
        masks = (_tensor(placement, *mask, dtype=flow.bool) for mask in (seen, padding))
        return Function(ours), (*(_tensor(placement, *shape) for _ in range(3)), *masks)

    def in_jax(type: str) -> tuple[Any, tuple, tuple]:
        masks = (_abstract(*mask, dtype=jnp.bool_) for mask in (seen, padding))
        return _jax_gradients(plain, 3), (), (*(_abstract(*shape) for _ in range(3)), *masks)

    return Workload(graph, in_jax, batch_dim=None)


def _dropout(rows: int = 8192, columns: int = 4096) -> Workload:
    def graph(placement: Any, split: Any) -> tuple[Any, tuple]:
        drop = functools.partial(F.dropout, p=0.1, training=True)
        return Function(drop), (_tensor(placement, rows, columns),)

    def drop(x: Any, key: Any) -> Any:
        return jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0.0).astype(x.dtype)

    def in_jax(type: str) -> tuple[Any, tuple, tuple]:
        key = jax.eval_shape(lambda: jax.random.key(0))
        return _jax_gradients(drop, 1), (), (_abstract(rows, columns), key)

    return Workload(graph, in_jax, batch_dim=None)


def _cross_entropy(rows: int = 4096, classes: int = 50304) -> Workload:
    def graph(placement: Any, split: Any) -> tuple[Any, tuple]:
        labels = _tensor(placement, rows, dtype=flow.int32)
        return Function(F.cross_entropy), (_tensor(placement, rows, classes), labels)

    def loss(logits: Any, labels: Any) -> Any:
        logits = jax.nn.log_softmax(logits.astype(jnp.float32))
        return -jnp.take_along_axis(logits, labels[:, None], axis=-1).mean()

    def in_jax(type: str) -> tuple[Any, tuple, tuple]:
        labels = _abstract(rows, dtype=jnp.int32)
        return _jax_gradients(loss, 1), (), (_abstract(rows, classes), labels)

    return Workload(graph, in_jax, batch_dim=None)


def _bert(torch: Any, make_step: Callable, batch: int = 32, length: int = 128) -> Any:
    model = onnx_models.bert_base(torch)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if isinstance(module, torch.nn.MultiheadAttention):
            module.dropout = 0.0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    tokens = torch.randint(0, bert_base.VOCABULARY, (batch, length))
    return make_step(
        Training(model, lambda model, tokens: model(tokens).square().mean(), optimizer, (tokens,))
    )


def _jax_bert(batch: int = 32, length: int = 128) -> Any:
    tokens = jnp.zeros((batch, length), jnp.int32)
    maker = layers.Maker()
    jax.eval_shape(lambda tokens: bert_base.bert_base(maker, tokens), tokens)

    def loss_of(parameters: Any, tokens: Any) -> Any:
        half = [parameter.astype(jnp.bfloat16) for parameter in parameters]
        hidden = bert_base.bert_base(layers.Taker(half, []), tokens)
        return jnp.square(hidden.astype(jnp.float32)).mean()

    return functools.partial(sgd_step(loss_of, maker.parameters), tokens)


def _gpt(rate: float, **jax_options: Any) -> Workload:
    sizes = {"vocabulary": 50304, "width": 768, "heads": 12, "layers": 2, "context": 1024}
    return _training(
        functools.partial(gpt.build, batch=8, dropout=rate, **sizes),
        functools.partial(
            jax_gpt.build, batch=8, rate=rate, dtype=jnp.bfloat16, **sizes, **jax_options
        ),
    )


def _experts(tokens: int = 8192, width: int = 1024, hidden: int = 4096) -> Workload:
    """The experts of a mixture: tokens sorted by expert, two products, and GELU between them."""
    count = 8

    def ours(x: Any, up: Any, down: Any, ends: Any) -> Any:
        inner = F.gelu(F.grouped_mm(x, up, offs=ends), approximate="tanh")
        return F.grouped_mm(inner, down, offs=ends)

    def experts(x: Any, up: Any, down: Any, ends: Any) -> Any:
        sizes = jnp.diff(ends, prepend=0)
        return jax.lax.ragged_dot(jax.nn.gelu(jax.lax.ragged_dot(x, up, sizes)), down, sizes)

    shapes = ((tokens, width), (count, width, hidden), (count, hidden, width))

    def graph(placement: Any, split: Any) -> tuple[Any, tuple]:
        ends = _tensor(placement, count, dtype=flow.int32)
        return Function(ours), (*(_tensor(placement, *shape) for shape in shapes), ends)

    def in_jax(type: str) -> tuple[Any, tuple, tuple]:
        ends = _abstract(count, dtype=jnp.int32)
        return _jax_gradients(experts, 3), (), (*(_abstract(*shape) for shape in shapes), ends)

    return Workload(graph, in_jax, batch_dim=None)


def _llama(
    sizes: Mapping[str, int],
    implementation: str | None = None,
    gathers: bool = False,
    **options: Any,
) -> Workload:
    return _training(
        functools.partial(llama.build, **sizes),
        functools.partial(
            jax_llama.build,
            dtype=jnp.bfloat16,
            implementation=implementation,
            splits_sequences=gathers,
            **sizes,
        ),
        **options,
    )


def _layout(parameters: Callable, moments: Callable) -> Callable[[tuple], tuple]:
    """The layout of AdamW's state: parameters, two moments, and what else it has."""

    def layout(state: tuple) -> tuple:
        p, first, second, *rest = state
        whole = jax.tree.map(lambda _: PartitionSpec(), rest)
        return parameters(p), moments(first), moments(second), *whole

    return layout


def _whole(p: Any) -> Any:
    return jax.tree.map(lambda _: PartitionSpec(), p)


_LLAMA = {
    "batch": 1, "context": 4096, "vocabulary": 32000, "width": 1024, "hidden": 4096,
    "heads": 16, "groups": 4, "layers": 2,
}  # fmt: skip
# Chips share its batch, and its heads are as many as eight chips can split.
_SHARED_LLAMA = {**_LLAMA, "batch": 8, "context": 1024, "groups": 8}
_SPLITS = {
    **dict.fromkeys([f".{name}.weight" for name in ("q", "k", "v", "gate", "up")], 0),
    **dict.fromkeys([".out.weight", ".down.weight"], 1),
    f"{_LLAMA['layers'] + 2}.weight": 0,
}
_ZERO_1 = functools.partial(
    _llama, _SHARED_LLAMA, "cudnn", zero=1, layout=_layout(_whole, jax_llama.split_rows)
)
_ZERO_3 = functools.partial(
    _llama,
    _SHARED_LLAMA,
    "cudnn",
    zero=3,
    layout=_layout(jax_llama.split_rows, jax_llama.split_rows),
)
_TENSOR = functools.partial(
    _llama,
    _SHARED_LLAMA,
    "cudnn",
    splits=_SPLITS,
    batch_dim=None,
    layout=_layout(jax_llama.split_weights, jax_llama.split_weights),
)
_CLICKS = {"batch": 4096, "rows": 20000}
_VIT = "vit_tiny_patch16_224"
WORKLOADS = {
    "sdpa": _attention(),
    "sdpa_gqa": _attention(groups=4),
    "sdpa_full": _attention(causal=False),
    "key_padding": _key_padding(),
    "written_block": _written_block(),
    "padded_attention": _padded_attention(),
    "dropout": _dropout(),
    "cross_entropy": _cross_entropy(),
    "experts": _experts(),
    "lstm": _training(lstm.build, lstm_step, half=False),
    "wide_deep": _training(
        functools.partial(wide_deep.build, **_CLICKS),
        functools.partial(jax_wide_deep.build, **_CLICKS),
        half=False,
    ),
    "vit": _training(
        functools.partial(vision.build, name=_VIT, twin=None, batch=64),
        functools.partial(layers.training_step, MODELS[_VIT], 64, dtype=jnp.bfloat16),
    ),
    "resnet50": _training(
        functools.partial(our_resnet50.build, batch=64),
        functools.partial(resnet50.build, batch=64, dtype=jnp.bfloat16),
    ),
    "unet": _training(unet.build, functools.partial(jax_unet.build, dtype=jnp.bfloat16)),
    "bert": _training(_bert, _jax_bert),
    "llama": _llama(_LLAMA),
    "llama_zero1": _ZERO_1(),
    "llama_zero3": _ZERO_3(),
    "llama_tensor": _TENSOR(),
    "llama_zero1_half_sums": _ZERO_1(reduce_dtype=flow.bfloat16),
    "llama_zero3_half_sums": _ZERO_3(reduce_dtype=flow.bfloat16),
    "llama_tensor_half_sums": _TENSOR(reduce_dtype=flow.bfloat16),
    "llama_sequence": _llama(_LLAMA, gathers=True, batch_dim=1, layout=_layout(_whole, _whole)),
    "gpt2": _gpt(0.0),
    "gpt2_dropout": _gpt(0.1),
    "gpt2_float32_sums": _gpt(0.0, sums_gradients=True),
}
