"""Optimizers go on from what OneFlow 0.9 saved."""

from __future__ import annotations

import pytest

import oneflow as flow


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (flow.optim.SGD, {"momentum_buf": "momentum_buffer"}),
        (flow.optim.Adam, {"exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq"}),
        (flow.optim.Adadelta, {"square_avgs": "square_avg", "acc_deltas": "acc_delta"}),
    ],
)
def test_goes_on_from_a_state_dict_of_oneflow(kind, names):
    """In its layout options are apart in a group, and one count stands beside the states."""

    def optimizer(weight, lr):
        momentum = {"momentum": 0.9} if kind is flow.optim.SGD else {}
        return kind([weight], lr=lr, **momentum)

    def step(weight, optimizer):
        optimizer.zero_grad()
        (weight**3).sum().backward()
        optimizer.step()

    weight = flow.tensor([1.0, -2.0], requires_grad=True)
    first = optimizer(weight, 0.1)
    for _ in range(3):
        step(weight, first)
    saved = first.state_dict()
    (group,) = saved["param_groups"]
    options = {name: value for name, value in group.items() if name != "params"}
    theirs = {
        "state": {"step": 3, 0: {old: saved["state"][0][new] for old, new in names.items()}},
        "param_groups": [
            {
                "_options": {**options, "bias_correction1": 0.5},
                "_enable_clip_grad": False,
                "params": group["params"],
            }
        ],
    }
    other = weight.detach().clone().requires_grad_()
    second = optimizer(other, 0.5)
    second.load_state_dict(theirs)
    assert second.param_groups[0]["lr"] == 0.1
    assert "bias_correction1" not in second.param_groups[0]
    for _ in range(2):
        step(weight, first)
        step(other, second)
    assert other.tolist() == weight.tolist()
