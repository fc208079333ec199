"""Solvers of torchdiffeq and torchsde."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torchdiffeq
import torchsde
from tools.third_party.measure import array, numbers, set_values, step

_METHODS = (
    "dopri5",
    "dopri8",
    "bosh3",
    "adaptive_heun",
    "rk4",
    "euler",
    "midpoint",
    "implicit_adams",
)


class _Field(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)
        )

    def forward(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.layers(y) - y * t

    f = forward

    def g(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return 0.0 * y + self.layers[0].weight.mean()


def _solve(method: str, *, adjoint: bool = False) -> dict[str, Any]:
    times, start = torch.linspace(0, 1, 4, dtype=torch.float64), numbers(2, 3)
    solve = torchdiffeq.odeint_adjoint if adjoint else torchdiffeq.odeint
    return step(_Field(), lambda field: solve(field, start, times, method=method))


def _event() -> dict[str, Any]:
    field = _Field().double()
    set_values(field)
    time, state = torchdiffeq.odeint_event(
        field,
        numbers(1, 3),
        torch.tensor(0.0, dtype=torch.float64),
        event_fn=lambda t, y: t - 0.5,
        method="dopri5",
    )
    return {"time": array(time), "state": array(state)}


class _Steps(torchsde.BaseBrownian):
    """A path that both libraries have: straight."""

    def __call__(self, ta: Any, tb: Any, return_U: bool = False, return_A: bool = False) -> Any:
        return torch.full((2, 3), 0.1, dtype=torch.float64) * (tb - ta)

    def __repr__(self) -> str:
        return "Steps"

    dtype = torch.float64
    device = torch.device("cpu")
    shape = torch.Size([2, 3])
    levy_area_approximation = "none"


def _stochastic(method: str) -> dict[str, Any]:
    times, start = torch.linspace(0, 1, 4, dtype=torch.float64), numbers(2, 3)
    return step(
        _Field(),
        lambda field: torchsde.sdeint(field, start, times, bm=_Steps(), method=method, dt=0.1),
    )


CASES = {
    **{name: partial(_solve, name) for name in _METHODS},
    "adjoint": partial(_solve, "dopri5", adjoint=True),
    "event": _event,
    **{f"stochastic {name}": partial(_stochastic, name) for name in ("euler", "milstein")},
}
