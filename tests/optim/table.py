"""The table of optimizers: one row per optimizer and options. `test_laws.py` has the laws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

import oneflow as flow


@dataclass(frozen=True)
class Row:
    """An optimizer with options.

    Attributes:
        name: its name in `oneflow.optim`.
        options: options given to both libraries.
        ours: further options for OneFlow only.
        theirs: further options for PyTorch only, where its defaults differ.
        reference: PyTorch's class if it is not `torch.optim.<name>`; None if it has none.
        converges: whether it finds the minimum of the test function in a few hundred steps.
        tolerance: how far parameters may be from PyTorch's after steps in float64.
        matrices_only: whether it takes no vectors.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    ours: dict[str, Any] = field(default_factory=dict)
    theirs: dict[str, Any] = field(default_factory=dict)
    reference: Callable | None = None
    converges: bool = True
    tolerance: float = 1e-7
    matrices_only: bool = False

    @property
    def label(self) -> str:
        """Name and options, for the test's id."""
        return "-".join(
            [self.name, *(f"{n}={v}" for n, v in {**self.options, **self.ours}.items())]
        )

    def make(self, params: Any, **options: Any) -> Any:
        """OneFlow's optimizer."""
        kind = getattr(flow.optim, self.name, None) or getattr(flow.one_embedding, self.name)
        return kind(params, **{**self.options, **self.ours, **options})

    def make_torch(self, params: Any, **options: Any) -> Any:
        """PyTorch's optimizer."""
        kind = self.reference or getattr(torch.optim, self.name)
        return kind(params, **{**self.options, **self.theirs, **options})


ROWS = [
    Row("SGD", {"lr": 0.1}),
    Row("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    Row("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    Row("SGD", {"lr": 0.1, "momentum": 0.5, "dampening": 0.3, "maximize": True}, converges=False),
    Row("Adam", {"lr": 0.1}),
    Row("Adam", {"lr": 0.1, "betas": (0.8, 0.9), "eps": 1e-4, "weight_decay": 0.1}),
    Row("Adam", {"lr": 0.1, "amsgrad": True, "maximize": True}, converges=False),
    Row("AdamW", {"lr": 0.1}, theirs={"weight_decay": 0.0}),
    Row("AdamW", {"lr": 0.1, "weight_decay": 0.2, "amsgrad": True}),
    Row("Adagrad", {"lr": 0.5}),
    Row(
        "Adagrad",
        {"lr": 0.5, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.1},
        converges=False,
    ),
    Row("Adadelta", {"lr": 1.0, "rho": 0.8, "weight_decay": 0.1}, converges=False),
    # `eps` is within the root here, as OneFlow documents it; `test_optimizer.py` has that formula.
    Row("RMSprop", {"lr": 0.02, "eps": 0.0}),
    Row(
        "RMSprop",
        {
            "lr": 0.02,
            "alpha": 0.9,
            "eps": 0.0,
            "momentum": 0.5,
            "centered": True,
            "weight_decay": 0.1,
        },
        converges=False,
    ),
    Row("RMSprop", {"lr": 0.02, "eps": 0.0, "centered": True}),
    Row("Adamax", {"lr": 0.1, "weight_decay": 0.1}),
    Row("NAdam", {"lr": 0.1, "weight_decay": 0.1}),
    Row("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    Row("RAdam", {"lr": 0.1}),
    Row("RAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    Row("Rprop", {"lr": 0.1}),
    Row(
        "Rprop",
        {"lr": 0.1, "etas": (0.4, 1.3), "step_sizes": (1e-3, 1.0), "maximize": True},
        converges=False,
    ),
    # PyTorch keeps its step size in float32.
    Row("ASGD", {"lr": 0.1, "lambd": 0.01, "t0": 5, "weight_decay": 0.1}, tolerance=1e-6),
    Row("ASGD", {"lr": 0.05, "maximize": True}, converges=False, tolerance=1e-6),
    Row("SparseAdam", {"lr": 0.1, "betas": (0.8, 0.9)}),
    # Its matrices are orthogonalized in bfloat16.
    Row("Muon", {"lr": 0.1}, converges=False, tolerance=2e-2, matrices_only=True),
    Row(
        "Muon",
        {"lr": 0.1, "nesterov": False, "adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.2},
        converges=False,
        tolerance=2e-2,
        matrices_only=True,
    ),
]
# Steps that are several instructions.
COMPOSED_ROWS = [
    Row("Adafactor", {"lr": 0.3}),
    Row(
        "Adafactor",
        {"lr": 0.1, "beta2_decay": -0.5, "eps": (1e-3, 0.5), "d": 2.0, "weight_decay": 0.1},
        converges=False,
    ),
    Row("Adafactor", {"lr": 0.1, "maximize": True}, converges=False),
]
# Optimizers that PyTorch does not have; `test_optimizer.py` compares these with the formula.
OWN_ROWS = [
    Row("LAMB", {"lr": 0.05}, converges=False),
    Row("LAMB", {"lr": 0.05, "weight_decay": 0.1, "amsgrad": True}, converges=False),
    Row("LAMB", {"lr": 0.05, "weight_decay": 0.1, "adam_w_mode": False}, converges=False),
    Row("Ftrl", {"lr": 0.5, "lambda1": 0.01, "lambda2": 0.02, "beta": 0.1}, converges=False),
    Row("Ftrl", {"lr": 0.5, "lr_power": 0.5, "weight_decay": 0.3}, converges=False),
    Row("Adam", {"lr": 0.1}, ours={"do_bias_correction": False}),
]
