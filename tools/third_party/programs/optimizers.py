"""Optimizers and averages of parameters: those of several small libraries."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytorch_optimizer
import schedulefree
import torch
import torch_optimizer
from ema_pytorch import EMA
from lion_pytorch import Lion
from prodigyopt import Prodigy
from tools.third_party.measure import array, numbers, set_values
from torch_ema import ExponentialMovingAverage

_STEPS = 4
#: What these optimizers ask for beside the parameters and a rate.
_OPTIONS: dict[str, dict[str, Any]] = {
    "alig": {"max_lr": 0.1},
    "adafactor": {"scale_parameter": False, "relative_step": False},
    "ranger21": {"num_iterations": _STEPS},
}
#: They take the gradients of the loss themselves, or are told of the model.
_OF_A_KIND = {"adalomo", "adammini", "bsam", "demo", "distributedmuon", "lbfgs", "lomo", "muonclip"}
#: They draw numbers, or take the eigenvectors of singular matrices, of which there are many.
_AT_WILL = {"adahessian", "alice", "gravity", "kron", "magma", "soap", "splus"}
_NAMES = (
    "AccSGD AdaBelief AdaBound AdaMod AdamP AggMo Apollo DiffGrad LARS Lamb MADGRAD NovoGrad PID "
    "QHAdam QHM RAdam Ranger RangerQH RangerVA SGDP SGDW SWATS Shampoo Yogi"
)


class _Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        # A bias before a normalization has a gradient of rounding errors alone.
        self.conv = torch.nn.Conv2d(2, 4, 3, bias=False)
        self.norm = torch.nn.BatchNorm2d(4)
        self.linear = torch.nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(torch.tanh(self.norm(self.conv(x))).flatten(1))


def _loss(model: torch.nn.Module, step: int) -> torch.Tensor:
    inputs, goals = numbers(5, 2, 4, 4, seed=step), numbers(5, 3, seed=100 + step)
    return torch.nn.functional.mse_loss(model(inputs), goals)


def _model() -> _Model:
    model = _Model().double()
    set_values(model)
    return model


def _train(make: Any) -> dict[str, Any]:
    """Train with an optimizer, whose state is saved and loaded halfway."""
    model = _model()
    optimizer = make(model.parameters())
    losses = []
    for step in range(_STEPS):
        if hasattr(optimizer, "train"):
            optimizer.train()
        optimizer.zero_grad()
        loss = _loss(model, step)
        loss.backward()
        optimizer.step(lambda loss=loss: loss) if _takes_loss(optimizer) else optimizer.step()
        losses.append(float(loss.detach()))
    if hasattr(optimizer, "eval"):
        optimizer.eval()
    after = {f"after: {name}": array(value) for name, value in model.state_dict().items()}
    return {"losses": np.array(losses), **after}


def _takes_loss(optimizer: Any) -> bool:
    return type(optimizer).__name__.lower() in ("alig", "swats") or isinstance(
        optimizer, torch.optim.LBFGS
    )


def _averages(make: Any) -> dict[str, Any]:
    """Average the parameters of a model that is trained."""
    model = _model()
    average = make(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(_STEPS):
        optimizer.zero_grad()
        _loss(model, step).backward()
        optimizer.step()
        average.update()
    if isinstance(average, EMA):
        return {f"after: {name}": array(value) for name, value in average.state_dict().items()}
    with average.average_parameters():
        inside = {f"in: {name}": array(value).copy() for name, value in model.state_dict().items()}
    state = {f"state: {n}": array(x) for n, x in enumerate(average.state_dict()["shadow_params"])}
    return inside | state


def _of_pytorch_optimizer(name: str) -> Any:
    kind = pytorch_optimizer.load_optimizer(name)
    return partial(_train, partial(kind, lr=0.01, **_OPTIONS.get(name, {})))


_KINDS = {
    "A2GradExp": torch_optimizer.A2GradExp,
    "A2GradInc": torch_optimizer.A2GradInc,
    "A2GradUni": torch_optimizer.A2GradUni,
    **{name: partial(getattr(torch_optimizer, name), lr=0.01) for name in _NAMES.split()},
    "lion_pytorch": partial(Lion, lr=0.01),
    "prodigyopt": Prodigy,
    "schedulefree AdamW": partial(schedulefree.AdamWScheduleFree, lr=0.01),
    "schedulefree RAdam": partial(schedulefree.RAdamScheduleFree, lr=0.01),
    "schedulefree SGD": partial(schedulefree.SGDScheduleFree, lr=0.01),
}

CASES = {
    **{name: partial(_train, kind) for name, kind in _KINDS.items()},
    **{
        f"pytorch_optimizer {name}": _of_pytorch_optimizer(name)
        for name in sorted(pytorch_optimizer.get_supported_optimizers())
        if name not in _OF_A_KIND | _AT_WILL
    },
    "torch_ema": partial(
        _averages, lambda model: ExponentialMovingAverage(model.parameters(), decay=0.9)
    ),
    "ema_pytorch": partial(
        _averages, lambda model: EMA(model, beta=0.9, update_after_step=1, update_every=1)
    ),
}
