"""NumPy's scalars and tensors without dimensions are taken for numbers and sizes, too.

Each row is a call with one number; the result must be that of the same Python number. A row says
which kinds of numbers PyTorch takes there; those it refuses are not asked for. Texts are neither
numbers nor truth values.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch

import oneflow as flow

MATRIX = [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]


def matrix(f):
    return f.tensor(MATRIX)


def image(f):
    return f.arange(16.0).reshape(1, 1, 4, 4)


def functional(f):
    return f.nn.functional


# Rows by name: a call of a framework and an integer of 2.
INTEGERS = {
    "pad": lambda f, n: functional(f).pad(matrix(f), (n, n)),
    "unfold": lambda f, n: matrix(f).unfold(1, n, n),
    "nn.functional.unfold": lambda f, n: functional(f).unfold(image(f), n),
    "nn.functional.fold": lambda f, n: functional(f).fold(f.ones(1, 4, 9), (4, 4), n),
    "narrow": lambda f, n: matrix(f).narrow(1, n, 1),
    "narrow length": lambda f, n: matrix(f).narrow(1, 0, n),
    "interpolate size": lambda f, n: functional(f).interpolate(image(f), size=(n, n)),
    "zeros": lambda f, n: f.zeros(n, n),
    "full": lambda f, n: f.full((n,), 3.0),
    "eye": lambda f, n: f.eye(n),
    "arange": lambda f, n: f.arange(n),
    "new_zeros": lambda f, n: matrix(f).new_zeros(n, n),
    "reshape": lambda f, n: matrix(f).reshape(n, 6),
    "view": lambda f, n: matrix(f).view(n, -1),
    "expand": lambda f, n: f.ones(1).expand(n),
    "repeat": lambda f, n: matrix(f).repeat(n, n),
    "tile": lambda f, n: matrix(f).tile(n),
    "unflatten": lambda f, n: matrix(f).unflatten(1, (n, n)),
    "topk": lambda f, n: matrix(f).topk(n)[0],
    "kthvalue": lambda f, n: matrix(f).kthvalue(n)[0],
    "chunk": lambda f, n: matrix(f).chunk(n)[0],
    "split": lambda f, n: matrix(f).split(n)[0],
    "roll": lambda f, n: matrix(f).roll(n, 0),
    "select": lambda f, n: matrix(f).select(0, n),
    "index": lambda f, n: matrix(f)[n, n],
    "slice": lambda f, n: matrix(f)[n:, :n],
    "tril": lambda f, n: matrix(f).tril(n),
    "diagonal": lambda f, n: matrix(f).diagonal(n),
    "as_strided": lambda f, n: matrix(f).as_strided((n, n), (1, 1)),
    "one_hot": lambda f, n: functional(f).one_hot(f.tensor([1]), n),
    "repeat_interleave": lambda f, n: matrix(f).repeat_interleave(n),
    "bincount": lambda f, n: f.bincount(f.tensor([0]), minlength=n),
    "histc": lambda f, n: f.histc(matrix(f), n),
    "avg_pool2d": lambda f, n: functional(f).avg_pool2d(image(f), n),
    "max_pool2d": lambda f, n: functional(f).max_pool2d(image(f), n, n),
    "adaptive_avg_pool2d": lambda f, n: functional(f).adaptive_avg_pool2d(image(f), n),
    "pixel_shuffle": lambda f, n: functional(f).pixel_shuffle(f.ones(1, 4, 2, 2), n),
    "conv2d": lambda f, n: functional(f).conv2d(image(f), f.ones(1, 1, 2, 2), stride=n, padding=n),
    "group_norm": lambda f, n: functional(f).group_norm(f.arange(8.0).reshape(2, 4), n),
    "fft": lambda f, n: f.fft.fft(matrix(f), n=n).real,
    "fftn": lambda f, n: f.fft.fftn(matrix(f), n).real,
    "fftn along a dimension": lambda f, n: f.fft.ifftn(matrix(f), n, n - 1).real,
    "rfft2": lambda f, n: f.fft.rfft2(matrix(f), n, 0).real,
    "linspace": lambda f, n: f.linspace(0.0, 1.0, n),
    "std": lambda f, n: matrix(f).std(correction=n),
}
# A call of a framework and a number of 0.5.
NUMBERS = {
    "add alpha": lambda f, x: matrix(f).add(matrix(f), alpha=x),
    "addcmul": lambda f, x: matrix(f).addcmul(matrix(f), matrix(f), value=x),
    "lerp": lambda f, x: matrix(f).lerp(-matrix(f), x),
    "leaky_relu": lambda f, x: functional(f).leaky_relu(-matrix(f), x),
    "elu": lambda f, x: functional(f).elu(-matrix(f), x),
    "threshold": lambda f, x: functional(f).threshold(matrix(f), x, x),
    "clamp": lambda f, x: matrix(f).clamp(x),
    "pow": lambda f, x: matrix(f) ** x,
    "rpow": lambda f, x: x ** matrix(f),
    "mul": lambda f, x: x * matrix(f),
    "masked_fill": lambda f, x: matrix(f).masked_fill(matrix(f) > 1, x),
    "where": lambda f, x: f.where(matrix(f) > 1, x, matrix(f)),
    "full value": lambda f, x: f.full((2,), x),
    "fill_": lambda f, x: matrix(f).fill_(x),
    "nan_to_num": lambda f, x: (matrix(f) / 0).nan_to_num(x),
    "quantile": lambda f, x: matrix(f).quantile(x),
    "layer_norm": lambda f, x: functional(f).layer_norm(matrix(f), (4,), eps=x),
    "cross_entropy": lambda f, x: functional(f).cross_entropy(
        matrix(f), f.tensor([0, 1, 2]), label_smoothing=x
    ),
    "cdist": lambda f, x: f.cdist(matrix(f), matrix(f) + 1, p=x),
    "norm": lambda f, x: matrix(f).norm(x),
    "interpolate factor": lambda f, x: functional(f).interpolate(image(f), scale_factor=x),
    "index_add": lambda f, x: matrix(f).index_add(0, f.tensor([0]), matrix(f)[:1], alpha=x),
    "init.constant_": lambda f, x: f.nn.init.constant_(f.empty(2), x),
    "hardtanh": lambda f, x: functional(f).hardtanh(matrix(f), -1, x),
    "softplus": lambda f, x: functional(f).softplus(matrix(f), x),
    "logit": lambda f, x: f.logit(matrix(f), x),
    "isclose": lambda f, x: f.isclose(matrix(f), matrix(f) + 1, x, x),
    "vector_norm": lambda f, x: f.linalg.vector_norm(matrix(f), x),
    "pairwise_distance": lambda f, x: functional(f).pairwise_distance(matrix(f), -matrix(f), x, x),
    "cosine_similarity": lambda f, x: functional(f).cosine_similarity(matrix(f), matrix(f), 1, x),
    "lp_pool1d": lambda f, x: functional(f).lp_pool1d(matrix(f), x, 2),
    "smooth_l1_loss": lambda f, x: functional(f).smooth_l1_loss(matrix(f), -matrix(f), beta=x),
    "huber_loss": lambda f, x: functional(f).huber_loss(matrix(f), -matrix(f), delta=x),
    "poisson_nll_loss": lambda f, x: functional(f).poisson_nll_loss(matrix(f), matrix(f), eps=x),
    "gaussian_nll_loss": lambda f, x: functional(f).gaussian_nll_loss(
        matrix(f), matrix(f), matrix(f), eps=x
    ),
    "margin_ranking_loss": lambda f, x: functional(f).margin_ranking_loss(
        matrix(f), -matrix(f), f.ones(3, 4), margin=x
    ),
    "hinge_embedding_loss": lambda f, x: functional(f).hinge_embedding_loss(
        matrix(f), -f.ones(3, 4), margin=x
    ),
    "cosine_embedding_loss": lambda f, x: functional(f).cosine_embedding_loss(
        matrix(f), matrix(f), -f.ones(3), margin=x
    ),
    "triplet_margin_loss": lambda f, x: functional(f).triplet_margin_loss(
        matrix(f), -matrix(f), matrix(f), margin=x, eps=x
    ),
    "multi_margin_loss": lambda f, x: functional(f).multi_margin_loss(
        matrix(f), f.tensor([0, 1, 2]), margin=x
    ),
}
# Random numbers: their shape, dtype and bounds are those of a Python number.
RANDOM = {
    "uniform_": lambda f, x: f.empty(3).uniform_(x, x),
    "normal_": lambda f, x: f.empty(3).normal_(x, x - x),
    "log_normal_": lambda f, x: f.empty(3).log_normal_(x, x),
    "exponential_": lambda f, x: f.empty(3).exponential_(x),
    "cauchy_": lambda f, x: f.empty(3).cauchy_(x, x),
    "geometric_": lambda f, x: f.empty(3).geometric_(x),
    "bernoulli_": lambda f, x: f.empty(3).bernoulli_(x),
    "normal": lambda f, x: f.normal(x, x, (3,)),
    "normal of tensors": lambda f, x: f.normal(f.ones(3), x),
    "dropout": lambda f, x: functional(f).dropout(f.ones(3), x),
    "gumbel_softmax": lambda f, x: functional(f).gumbel_softmax(f.ones(3), tau=x),
    "init.uniform_": lambda f, x: f.nn.init.uniform_(f.empty(3), x, x),
    "init.trunc_normal_": lambda f, x: f.nn.init.trunc_normal_(f.empty(3), x, x, x, x),
}
KINDS = {"integer": (2, np.int64(2)), "number": (0.5, np.float32(0.5))}


def accepts(call, number):
    try:
        call(torch, number)
    except (TypeError, RuntimeError, AttributeError, ValueError):
        return False
    return True


def check(call, plain, given, theirs, equal):
    if not accepts(call, theirs):
        pytest.skip("PyTorch refuses it")
    flow.manual_seed(0)
    expected = call(flow, plain)
    flow.manual_seed(0)
    found = call(flow, given)
    assert found.dtype is expected.dtype
    assert found.shape == expected.shape
    if equal:
        assert np.array_equal(found.numpy(), expected.numpy(), equal_nan=True)


@pytest.mark.parametrize("name", [*INTEGERS, *NUMBERS, *RANDOM])
def test_numpy_scalars_are_numbers(name):
    plain, scalar = KINDS["integer" if name in INTEGERS else "number"]
    call = {**INTEGERS, **NUMBERS, **RANDOM}[name]
    check(call, plain, scalar, scalar, True)


@pytest.mark.parametrize("name", [*INTEGERS, *NUMBERS, *RANDOM])
def test_tensors_without_dimensions_are_numbers(name):
    plain, _ = KINDS["integer" if name in INTEGERS else "number"]
    call = {**INTEGERS, **NUMBERS, **RANDOM}[name]
    check(call, plain, flow.tensor(plain), torch.tensor(plain), True)


@pytest.mark.parametrize("name", [*INTEGERS, *NUMBERS, *RANDOM])
def test_texts_are_no_numbers(name):
    call = {**INTEGERS, **NUMBERS, **RANDOM}[name]
    text = str(KINDS["integer" if name in INTEGERS else "number"][0])
    if accepts(call, text):
        pytest.skip("PyTorch takes it")
    with pytest.raises((TypeError, ValueError, RuntimeError, IndexError)):
        call(flow, text)


def test_numbers_of_layers():
    for make in (partial(flow.nn.Linear), partial(flow.nn.LSTM), partial(flow.nn.Embedding)):
        for number in (np.int64(2), flow.tensor(2)):
            sizes = [parameter.shape for parameter in make(number, number).parameters()]
            assert sizes == [parameter.shape for parameter in make(2, 2).parameters()]
