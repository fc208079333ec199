"""Calls of layers, optimizers and other functions that the operator table has no samples of.

Each is a function that takes nothing and returns tensors whose gradients are taken too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import oneflow as flow
from oneflow.nn import functional as F
from oneflow.optim.sgd import SGDW
from oneflow.primitives.operators.control import barrier
from oneflow.primitives.operators.cross_entropy import sum_of_label_weights
from oneflow.primitives.operators.gradient_clipping import total_norm
from oneflow.primitives.operators.lamb import LAMBNumbers, lamb_direction, lamb_step
from oneflow.primitives.operators.materialize import materialize, optimization_barrier
from oneflow.primitives.operators.norm import attach_moments
from oneflow.primitives.operators.strided import keep_last
from oneflow.primitives.operators.unscale import unscale
from oneflow.primitives.operators.update_unless_failed import update_unless_failed
from oneflow.primitives.operators.values_unless import values_unless
from oneflow.primitives.operators.without_derivative import without_derivative
from oneflow.tensor import Tensor, call
from oneflow.tensor.transfer import import_array
from tests.optim.table import OWN_ROWS, ROWS, Row
from tests.oracle import flat_tensors
from tests.samples.special import FUNCTIONS

# The tensors that the call under way takes gradients of.
_leaves: list[Tensor] = []


def floats(*shape: int) -> Tensor:
    """Reproducible float64 numbers in [0.1, 0.9) that require grad."""
    array = np.random.default_rng(shape).uniform(0.1, 0.9, shape)
    leaf = import_array(array).requires_grad_()
    _leaves.append(leaf)
    return leaf


IMAGE = (2, 4, 6, 6)
LENGTHS = [2, 4]


def _images() -> Iterator[Callable[[], Any]]:
    yield lambda: F.conv2d(floats(*IMAGE), floats(6, 4, 3, 3), floats(6), padding=1)
    yield lambda: F.conv2d(floats(*IMAGE), floats(8, 2, 3, 3), groups=2, stride=2)
    yield lambda: F.conv1d(floats(2, 4, 6), floats(4, 1, 3), groups=4)
    yield lambda: F.conv_transpose2d(floats(*IMAGE), floats(4, 6, 3, 3), stride=2)
    yield lambda: F.conv_transpose2d(floats(*IMAGE), floats(4, 3, 2, 2), floats(6), groups=2)
    yield lambda: F.max_pool2d(floats(*IMAGE), 2)
    yield lambda: F.max_pool2d(floats(*IMAGE), 2, return_indices=True)
    yield lambda: F.max_unpool2d(*F.max_pool2d(floats(*IMAGE), 2, return_indices=True), 2)
    yield lambda: F.avg_pool2d(floats(*IMAGE), 3, stride=2, padding=1)
    yield lambda: F.adaptive_max_pool2d(floats(*IMAGE), 4)
    yield lambda: F.interpolate(floats(*IMAGE), scale_factor=2, mode="bilinear")
    yield lambda: F.pad(floats(*IMAGE), (1, 1, 1, 1), mode="reflect")
    yield lambda: F.pad(floats(*IMAGE), (1, 1))
    yield lambda: F.grid_sample(floats(*IMAGE), floats(2, 4, 6, 2), align_corners=False)
    yield lambda: F.affine_grid(floats(2, 2, 3), IMAGE, align_corners=False)


def _norms() -> Iterator[Callable[[], Any]]:
    def running() -> tuple[Tensor, Tensor]:
        return flow.zeros(4, dtype=flow.float64), flow.ones(4, dtype=flow.float64)

    yield lambda: F.batch_norm(floats(*IMAGE), *running(), floats(4), floats(4), training=True)
    yield lambda: F.batch_norm(floats(*IMAGE), *running(), floats(4), floats(4))
    yield lambda: F.layer_norm(floats(2, 4, 6), (6,), floats(6), floats(6))
    yield lambda: F.group_norm(floats(*IMAGE), 2, floats(4), floats(4))
    yield lambda: F.instance_norm(floats(*IMAGE))
    yield lambda: F.rms_norm(floats(2, 4, 6), (6,), floats(6))


def _sequences() -> Iterator[Callable[[], Any]]:
    for kind in ("LSTM", "GRU", "RNN"):
        options = {"proj_size": 2} if kind == "LSTM" else {}
        yield lambda kind=kind, options=options: _layer(kind, **options)(_packed())
        yield lambda kind=kind: _layer(f"{kind}Cell")(floats(2, 6))
    yield lambda: F.scaled_dot_product_attention(*(floats(2, 2, 4, 6) for _ in range(3)))
    yield lambda: F.scaled_dot_product_attention(*(floats(2, 2, 4, 6),) * 3, floats(4, 4))
    yield lambda: F.scaled_dot_product_attention(*(floats(2, 2, 4, 6),) * 3, is_causal=True)
    yield lambda: F.scaled_dot_product_attention(
        floats(2, 2, 4, 6), *(floats(2, 2, 6, 6),) * 2, dropout_p=0.5, is_causal=True
    )


def _in_half_precision() -> Iterator[Callable[[], Any]]:
    yield lambda: flow.addmm(floats(6).half(), floats(4, 6).half(), floats(6, 6).half())


def gamma_numbers(concentration: flow.Tensor) -> flow.Tensor:
    """Gradients of random numbers of the gamma distribution."""
    concentration.requires_grad_()
    drawn = flow.distributions.Gamma(concentration, 1.0, False).rsample()
    return flow.autograd.grad(drawn.sum(), concentration)[0]


def _random() -> Iterator[Callable[[], Any]]:
    dims = (4, 6)
    yield lambda: flow.rand(*dims)
    yield lambda: flow.randn(*dims)
    yield lambda: flow.normal(floats(*dims), floats(*dims))
    yield lambda: flow.randint(0, 9, dims)
    yield lambda: flow.empty(*dims).exponential_()
    yield lambda: flow.empty(*dims).cauchy_()
    yield lambda: flow.empty(*dims).geometric_(0.3)
    yield lambda: flow.nn.init.trunc_normal_(flow.empty(*dims))
    yield lambda: flow.bernoulli(flow.empty(*dims), 0.5)
    yield lambda: flow.bernoulli(floats(*dims))
    yield lambda: flow.bernoulli(flow.empty(*dims), floats(6))
    yield lambda: flow.distributions.VonMises(0.5, floats(*dims), False).sample()
    yield lambda: flow.poisson(floats(*dims) * 20)
    yield lambda: flow.binomial(floats(*dims).detach() * 90, floats(*dims).detach())
    yield lambda: gamma_numbers(floats(*dims))
    yield lambda: flow.multinomial(floats(*dims), 3)
    yield lambda: flow.multinomial(floats(*dims), 3, replacement=True)
    yield lambda: F.dropout(floats(*dims), 0.5)
    yield lambda: F.dropout2d(floats(*IMAGE), 0.5)
    yield lambda: F.alpha_dropout(floats(*dims), 0.5, training=True)
    yield lambda: F.feature_alpha_dropout(floats(*IMAGE), 0.5, training=True)


def _layer(kind: str, **options: Any) -> flow.nn.Module:
    return getattr(flow.nn, kind)(6, 4, **options).double()


def _packed() -> Any:
    return flow.nn.utils.rnn.pack_padded_sequence(
        floats(4, 2, 6), flow.tensor(LENGTHS), enforce_sorted=False
    )


def _others() -> Iterator[Callable[[], Any]]:
    labels, dims = flow.tensor([0, 1, 2, 3]), (4, 6)
    yield lambda: flow.nn.utils.weight_norm(_layer("Linear"))(floats(2, 6))
    yield lambda: flow.nn.utils.spectral_norm(_layer("Linear"))(floats(2, 6))
    yield lambda: flow.nn.utils.clip_grad_value_([_with_grad(floats(4, 6))], 0.5)
    for order in (0.0, 2.0, 3.0):
        yield lambda order=order: flow.nn.utils.clip_grad_norm_(_grads(order), 0.5, order)
        yield lambda order=order: call(total_norm, *_grads(order), order=order)
    yield lambda: call(unscale, flow.tensor(8.0), floats(4, 6), floats(6).half())
    yield lambda: F.combined_margin_loss(floats(4, 6), labels)
    yield lambda: F.kl_div(floats(4, 6), floats(4, 6), log_target=True)
    yield lambda: call(sum_of_label_weights, labels, floats(6), dtype=flow.float32, ignore_index=1)
    yield lambda: F.cross_entropy(floats(4, 6), floats(4, 6), reduction="none")
    yield lambda: F.ctc_greedy_decoder(floats(6, 2, 4), flow.tensor([6, 4]))
    yield lambda: F.quick_gelu(floats(4, 6))
    yield lambda: F.square_relu(floats(4, 6))
    yield lambda: F.l2_normalize(floats(4, 6))
    yield lambda: F.lp_pool1d(floats(2, 4, 6), 2, 2)
    yield lambda: floats(4, 6) ** 3
    yield lambda: floats(4, 6) ** floats(4, 6)
    yield lambda: F.binary_cross_entropy(floats(4, 6), floats(6, 4).T)
    yield lambda: flow.special.i1(floats(4, 6))
    yield lambda: flow.special.i1e(floats(4, 6))
    yield lambda: flow.cdist(floats(4, 6), floats(2, 6), p=math.inf)
    yield lambda: floats(4, 6).max(dim=1)
    yield lambda: floats(4, 6).clamp(min=0.3) + floats(4, 6).clamp(max=0.3)
    yield lambda: flow.linalg.eig(floats(2, 3, 3))
    yield lambda: flow.linalg.eigvals(floats(2, 3, 3))
    yield lambda: flow.div(labels, labels + 1, rounding_mode="trunc")
    yield lambda: F.gumbel_softmax(floats(4, 6), hard=True)
    vector = (4, 1)
    yield lambda: call(attach_moments, floats(*dims), floats(*vector), floats(*vector), dims=(1,))
    numbers = floats(len(LAMBNumbers._fields))
    yield lambda: call(lamb_direction, *[floats(*dims)] * 4, numbers)
    yield lambda: call(lamb_step, floats(*dims), floats(*dims), floats(), floats(), numbers)
    yield lambda: call(materialize, floats(4, 6))
    yield lambda: call(barrier, 1, floats(4, 6), floats(2))
    yield lambda: call(keep_last, floats(4, 2, 3), strides=(None, 1, 1))
    yield lambda: call(optimization_barrier, floats(4, 6), floats(2))
    yield lambda: call(update_unless_failed, floats(4, 6), floats(4, 6), checks=1)
    values = [floats(4, 6), floats(2), floats(6, 4)]
    yield lambda: call(values_unless, flow.tensor(True), *values, *[value + 1 for value in values])
    yield lambda: call(without_derivative, floats(4, 6), floats(2), function="f").detach()


def _special() -> Iterator[Callable[[], Any]]:
    """Functions whose samples have no gradient, because PyTorch has none."""
    for name in FUNCTIONS:
        yield lambda name=name: getattr(flow.special, name)(floats(2, 6))


def _grads(order: float) -> list[Tensor]:
    narrow = flow.float16 if order == 3 else flow.float32
    third = flow.ones(3, dtype=narrow)
    return [_with_grad(value) for value in (floats(4, 6), floats(2), third)]


def _with_grad(tensor: Tensor) -> Tensor:
    tensor.grad = tensor.detach()
    return tensor


def _optimizer_steps() -> Iterator[Callable[[], Any]]:
    for row in (*ROWS, *OWN_ROWS):
        second = (2, 6) if row.matrices_only else (2,)
        yield lambda row=row, second=second: _step(row, second)
    # It is not in `oneflow.optim`: job functions have it.
    for momentum in (0.0, 0.5):
        yield lambda momentum=momentum: SGDW(
            [_with_grad(floats(4, 6))], 0.1, momentum, weight_decay=0.1
        ).step()


def _step(row: Row, second: tuple[int, ...]) -> None:
    row.make([_with_grad(floats(4, 6)), _with_grad(floats(*second))]).step()


def calls() -> Iterator[Callable[[], Any]]:
    """All of them, each followed by its gradients."""
    for family in (_images, _norms, _sequences, _in_half_precision, _random, _others, _special):
        for make in family():
            # Second gradients of whole sequences take long to compile.
            order = 1 if family is _sequences else 2
            yield lambda make=make, order=order: _with_gradients(make, order)
    # It has no second derivative in its first argument, and in PyTorch no first one.
    yield lambda: _with_gradients(lambda: flow.special.gammainc(floats(2, 6), floats(2, 6)), 1)
    yield from _optimizer_steps()


def _with_gradients(make: Callable[[], Any], order: int) -> list[Tensor]:
    _leaves.clear()
    levels = flat_tensors(make())
    outputs = [level for level in levels if level.requires_grad]
    for _ in range(order):
        if not outputs:
            break
        total = sum((output * output).real.sum() for output in outputs)
        grads = flow.autograd.grad(total, _leaves, create_graph=True, allow_unused=True)
        outputs = [
            gradient for gradient in grads if gradient is not None and gradient.requires_grad
        ]
        levels += [gradient for gradient in grads if gradient is not None]
    return levels
