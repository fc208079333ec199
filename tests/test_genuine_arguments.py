"""Names of arguments that genuine OneFlow declares and PyTorch does not."""

from __future__ import annotations

import io

import pytest

import oneflow as flow
from oneflow import nn, optim

OPTIMIZERS = ("Adadelta", "Adagrad", "Adam", "AdamW", "LAMB", "RMSprop", "SGD")


def _parameters():
    weight = nn.Parameter(flow.ones(2))
    weight.grad = flow.tensor([3.0, 4.0])
    return [weight]


def _saved():
    file = io.BytesIO()
    flow.save(flow.ones(2), path_or_buffer=file)
    file.seek(0)
    return flow.load(file).tolist()


CALLS = {
    "save": (_saved, [1, 1]),
    "clip_grad_norm_": (
        lambda: nn.utils.clip_grad_norm_(_parameters(), 1.0, fused=True).item(),
        5,
    ),
    "det": (lambda: flow.linalg.det(A=2 * flow.eye(2)).item(), 4),
    "softmax": (lambda: nn.functional.softmax(input=flow.zeros(2), dim=0).tolist(), [0.5, 0.5]),
    "tensordot": (lambda: flow.tensordot(a=flow.ones(2), b=flow.ones(2), dims=1).item(), 2),
}


@pytest.mark.parametrize("name", CALLS)
def test_genuine_names_of_arguments(name):
    call, expected = CALLS[name]
    assert call() == expected


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_take_contiguous_parameters(name):
    rows = []
    for contiguous in (False, True):
        parameters = _parameters()
        getattr(optim, name)(parameters, lr=0.1, contiguous_params=contiguous).step()
        rows.append(parameters[0].tolist())
    assert rows[0] == rows[1] != [1, 1]
