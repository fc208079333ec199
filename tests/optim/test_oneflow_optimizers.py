"""Optimizers give what OneFlow 0.9.0 gives: parameters after three steps, in float32."""

from __future__ import annotations

from typing import Any

import pytest

import oneflow as flow

ROWS: list[tuple[str, dict[str, Any], list[float]]] = [
    (
        "Ftrl",
        {"lr": 1.0, "lr_power": 0.5, "weight_decay": 0.9, "beta": 1.0},
        [-0.09914, -0.31796, -0.61374, -0.60163, -1.13965, -0.9447],
    ),
    (
        "Ftrl",
        {
            "lr": 0.5,
            "lr_power": 0.5,
            "lambda1": 0.1,
            "lambda2": 0.2,
            "weight_decay": 0.3,
            "beta": 0.1,
        },
        [0.20917, 0.0, -0.14115, -0.34372, -0.50664, -0.70195],
    ),
    (
        "SGD",
        {"lr": 0.1, "momentum": 0.9, "maximize": True},
        [1.1, -1.95, 1.39, -1.805, 1.951, -1.5245],
    ),
    (
        "SGD",
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.2},
        [0.772, -2.019, 0.26546, -2.14038, -0.57661, -2.39963],
    ),
    ("Adam", {"lr": 0.1, "weight_decay": 0.5}, [0.9, -1.9, 0.80155, -1.84073, 0.70365, -1.85903]),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.5}, [0.85, -2.0, 0.71098, -1.99652, 0.57963, -1.99249]),
    ("Adam", {"lr": 0.1, "amsgrad": True}, [0.9, -2.1, 0.80348, -2.19652, 0.70768, -2.29232]),
    (
        "Adam",
        {"lr": 0.1, "do_bias_correction": False},
        [0.68377, -2.31623, 0.2736, -2.7264, -0.20063, -3.20063],
    ),
    (
        "RMSprop",
        {"lr": 0.1, "eps": 0.01},
        [0.29289, -2.44721, -0.52429, -3.11425, -1.30043, -3.82254],
    ),
    (
        "RMSprop",
        {"lr": 0.1, "weight_decay": 0.3},
        [-0.0, -1.00005, -0.83969, -1.9901, -1.59699, -2.77896],
    ),
    (
        "RMSprop",
        {"lr": 0.1, "centered": True, "eps": 0.01},
        [0.29112, -2.44766, -0.53223, -3.11804, -1.31777, -3.83345],
    ),
    (
        "LAMB",
        {"lr": 0.1, "weight_decay": 0.1},
        [0.82607, -2.12649, 0.65096, -2.25226, 0.47391, -2.37907],
    ),
    (
        "Adagrad",
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "eps": 0.01},
        [0.9009, -2.09677, 0.82079, -2.18077, 0.75482, -2.24989],
    ),
    (
        "Adadelta",
        {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1},
        [0.99888, -2.00112, 0.99745, -2.00262, 0.99573, -2.00445],
    ),
]


@pytest.mark.parametrize(("name", "options", "expected"), ROWS)
def test_steps_are_those_of_oneflow(
    name: str, options: dict[str, Any], expected: list[float]
) -> None:
    parameter = flow.nn.Parameter(flow.tensor([1.0, -2.0]))
    kind = getattr(flow.optim, name, None) or getattr(flow.one_embedding, name)
    optimizer = kind([parameter], **options)
    found = []
    for step in range(1, 4):
        optimizer.zero_grad()
        (parameter * flow.tensor([1.0, 0.5]) * step).sum().backward()
        optimizer.step()
        found += parameter.tolist()
    assert found == pytest.approx(expected, rel=2e-5, abs=2e-5)
