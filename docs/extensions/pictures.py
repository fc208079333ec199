"""Pictures of what is a curve: activations, schedules of learning rates, windows and densities.

The curves are computed when the reference is written, by the functions that the pages are about.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import oneflow as flow
from oneflow.optim import lr_scheduler

F = flow.nn.functional
# One size and neutral colours on white, which dark pages can show, too.
SIZE = (4.2, 2.4)
COLORS = ("#1f6fb2", "#e08a2e", "#3c9a5f")


class Picture(NamedTuple):
    """Curves over one axis.

    Attributes:
        x: places along the axis.
        curves: values at these places, by their label.
        axis: title of the axis.
    """

    x: np.ndarray
    curves: Mapping[str, np.ndarray]
    axis: str


class Matrices(NamedTuple):
    """Matrices side by side.

    Attributes:
        values: the matrices, by their title.
        axes: titles of the columns and of the rows.
    """

    values: Mapping[str, np.ndarray]
    axes: tuple[str, str]


# Figures of the guides that show what these names are, by `tools/make_figures.py`.
FIGURES = {
    "oneflow.Tensor.to_global": "boxing.svg",
    "oneflow.sbp.broadcast": "sbp.svg",
    "oneflow.sbp.partial_sum": "sbp.svg",
    "oneflow.sbp.split": "sbp.svg",
}
# Functions of one number, with the layers that apply them.
ACTIVATIONS = {
    "celu": "CELU",
    "elu": "ELU",
    "gelu": "GELU",
    "hardshrink": "Hardshrink",
    "hardsigmoid": "Hardsigmoid",
    "hardswish": "Hardswish",
    "hardtanh": "Hardtanh",
    "leaky_relu": "LeakyReLU",
    "logsigmoid": "LogSigmoid",
    "mish": "Mish",
    "quick_gelu": "QuickGELU",
    "relu": "ReLU",
    "relu6": "ReLU6",
    "selu": "SELU",
    "sigmoid": "Sigmoid",
    "silu": "SiLU",
    "softplus": "Softplus",
    "softshrink": "Softshrink",
    "softsign": "Softsign",
    "square_relu": "SquareReLU",
    "tanh": "Tanh",
    "tanhshrink": "Tanhshrink",
}
# Settings that show a schedule within a hundred steps.
SCHEDULES: dict[str, dict[str, Any]] = {
    "ConstantLR": {"factor": 0.3, "total_iters": 40},
    "CosineAnnealingLR": {"T_max": 50},
    "CosineAnnealingWarmRestarts": {"T_0": 15, "T_mult": 2},
    "CosineDecayLR": {"decay_steps": 80, "alpha": 0.1},
    "CyclicLR": {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 20, "cycle_momentum": False},
    "ExponentialLR": {"gamma": 0.96},
    "LinearLR": {"start_factor": 0.1, "total_iters": 60},
    "MultiStepLR": {"milestones": [30, 60, 80], "gamma": 0.4},
    "OneCycleLR": {"max_lr": 1.0, "total_steps": 100, "cycle_momentum": False},
    "PolynomialLR": {"decay_batch": 80, "power": 2.0},
    "StepLR": {"step_size": 25, "gamma": 0.5},
    "WarmupLR": {"warmup_factor": 0.1, "warmup_iters": 30},
}
WINDOWS: dict[str, dict[str, Any]] = {
    "bartlett": {},
    "blackman": {},
    "cosine": {},
    "exponential": {"tau": 12.0},
    "gaussian": {"std": 10.0},
    "hamming": {},
    "hann": {},
    "kaiser": {"beta": 8.0},
    "nuttall": {},
}
# Parameters of densities, and between which numbers they are shown.
DENSITIES: dict[str, tuple[tuple[float, float], tuple[tuple[float, ...], ...]]] = {
    "Beta": ((0.01, 0.99), ((2.0, 2.0), (0.5, 0.5), (2.0, 5.0))),
    "Cauchy": ((-5.0, 5.0), ((0.0, 0.5), (0.0, 1.0), (-2.0, 1.0))),
    "Exponential": ((0.0, 4.0), ((0.5,), (1.0,), (2.0,))),
    "Gamma": ((0.01, 8.0), ((1.0, 1.0), (2.0, 1.0), (5.0, 1.0))),
    "Gumbel": ((-3.0, 8.0), ((0.0, 1.0), (1.0, 2.0))),
    "HalfNormal": ((0.0, 4.0), ((0.5,), (1.0,))),
    "Laplace": ((-5.0, 5.0), ((0.0, 0.5), (0.0, 1.0), (-2.0, 1.0))),
    "LogNormal": ((0.01, 5.0), ((0.0, 0.5), (0.0, 1.0))),
    "Normal": ((-5.0, 5.0), ((0.0, 0.5), (0.0, 1.0), (-2.0, 1.0))),
    "StudentT": ((-5.0, 5.0), ((1.0,), (5.0,))),
    "VonMises": ((-3.14, 3.14), ((0.0, 1.0), (0.0, 4.0))),
    "Weibull": ((0.01, 3.0), ((1.0, 1.0), (1.0, 2.0), (1.0, 5.0))),
}


def _activation(function: Callable[[flow.Tensor], flow.Tensor]) -> Picture:
    x = flow.linspace(-4, 4, 161).requires_grad_()
    value = function(x)
    (slope,) = flow.autograd.grad(value.sum(), x)
    curves = {"value": value.detach().numpy(), "derivative": slope.numpy()}
    return Picture(x.detach().numpy(), curves, "input")


def _schedule(name: str) -> Picture:
    """The rates of a hundred steps of an optimizer whose own rate is 1."""
    optimizer = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=1.0)
    schedule = getattr(lr_scheduler, name)(optimizer, **SCHEDULES[name])
    rates = []
    for _ in range(100):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    settings = ", ".join(f"{key}={value}" for key, value in SCHEDULES[name].items())
    return Picture(np.arange(100.0), {"": np.array(rates)}, f"step\n{settings}")


def _window(name: str) -> Picture:
    values = getattr(flow.signal.windows, name)(65, **WINDOWS[name])
    settings = "".join(f", {key}={value}" for key, value in WINDOWS[name].items())
    return Picture(np.arange(65.0), {"": values.numpy()}, f"sample{settings}")


def _density(name: str) -> Picture:
    (low, high), parameters = DENSITIES[name]
    x, kind = flow.linspace(low, high, 161), getattr(flow.distributions, name)
    curves = {str(numbers): kind(*numbers).log_prob(x).exp().numpy() for numbers in parameters}
    return Picture(x.numpy(), curves, "value")


def _attention() -> Matrices:
    """The weights of eight keys for eight queries: what attention makes of unit vectors."""
    flow.manual_seed(0)
    queries, keys, unit = flow.randn(1, 8, 4), flow.randn(1, 8, 4), flow.eye(8)[None]
    near = (flow.arange(8)[:, None] - flow.arange(8)).abs() < 2
    arguments: dict[str, dict[str, Any]] = {
        "all keys": {},
        "is_causal=True": {"is_causal": True},
        "attn_mask": {"attn_mask": near},
    }
    values = {
        title: F.scaled_dot_product_attention(queries, keys, unit, **masks)[0].numpy()
        for title, masks in arguments.items()
    }
    return Matrices(values, ("key", "query"))


@functools.cache
def pictures() -> dict[str, Callable[[], Picture | Matrices]]:
    """Return how the pictures are computed, by the paths of the names that they belong to."""
    made: dict[str, Callable[[], Picture | Matrices]] = {
        "oneflow.nn.functional.scaled_dot_product_attention": _attention
    }
    for function, layer in ACTIVATIONS.items():
        made[f"oneflow.nn.functional.{function}"] = functools.partial(
            _activation, getattr(F, function)
        )
        made[f"oneflow.nn.{layer}"] = functools.partial(_activation, getattr(flow.nn, layer)())
    for name in SCHEDULES:
        made[f"oneflow.optim.lr_scheduler.{name}"] = functools.partial(_schedule, name)
    for name in WINDOWS:
        made[f"oneflow.signal.windows.{name}"] = functools.partial(_window, name)
    for name in DENSITIES:
        made[f"oneflow.distributions.{name}"] = functools.partial(_density, name)
    return made


def draw(picture: Picture | Matrices, file: Path) -> None:
    """Draw a picture into an SVG file, the same bytes each time."""
    with mpl.rc_context({"svg.hashsalt": "oneflow", "font.size": 8, "svg.fonttype": "none"}):
        figure = Figure(SIZE, layout="constrained")
        if isinstance(picture, Matrices):
            _draw_matrices(picture, figure)
        else:
            _draw_curves(picture, figure)
        figure.savefig(file, format="svg", metadata={"Date": None})


def _draw_curves(picture: Picture, figure: Figure) -> None:
    axes = figure.add_subplot()
    for (label, values), color in zip(picture.curves.items(), COLORS, strict=False):
        axes.plot(picture.x, values, color=color, label=label or None)
    axes.set_xlabel(picture.axis)
    axes.grid(color="#dde3e8")
    axes.set_axisbelow(True)
    if len(picture.curves) > 1:
        axes.legend(frameon=False)


def _draw_matrices(picture: Matrices, figure: Figure) -> None:
    parts = figure.subplots(1, len(picture.values))
    for axes, (title, values) in zip(parts, picture.values.items(), strict=True):
        axes.imshow(values, cmap="Blues", vmin=0)
        axes.set(title=title, xlabel=picture.axes[0], xticks=[], yticks=[])
    parts[0].set_ylabel(picture.axes[1])
