"""Optimizers as OneFlow 0.1 described them: `train.primary_lr` and `train.model_update_conf`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from oneflow.legacy import schedulers, warmup
from oneflow.legacy.grad_clipping import by_global_norm
from oneflow.legacy.optimizers import (
    LAMB,
    LARS,
    SGD,
    SGDW,
    Adam,
    AdamW,
    JobOptimizer,
    LazyAdam,
    RMSProp,
)
from oneflow.legacy.schedulers import LrScheduler
from oneflow.legacy.warmup import Warmup

Conf = Mapping[str, Any]

# The optimizer of each kind, and the one whose weights decay; keys are arguments of the class.
_OPTIMIZERS: dict[str, tuple[Callable[..., JobOptimizer], Callable[..., JobOptimizer] | None]] = {
    "naive_conf": (
        lambda lr, **options: SGD(lr, momentum=0, **options),
        lambda lr, **options: SGDW(lr, momentum=0, **options),
    ),
    "momentum_conf": (
        lambda lr, beta=0.9, **options: SGD(lr, momentum=beta, **options),
        lambda lr, beta=0.9, **options: SGDW(lr, momentum=beta, **options),
    ),
    "rmsprop_conf": (RMSProp, None),
    "lars_conf": (LARS, LARS),
    "adam_conf": (Adam, AdamW),
    "lazy_adam_conf": (LazyAdam, None),
    "lamb_conf": (LAMB, LAMB),
}
_SCHEDULERS: dict[str, Callable[..., LrScheduler]] = {
    "exponential_conf": schedulers.ExponentialScheduler,
    "inverse_time_conf": schedulers.InverseTimeScheduler,
    "natural_exp_conf": schedulers.NaturalExpScheduler,
    "polynomial_conf": schedulers.PolynomialScheduler,
    "cosine_conf": schedulers.CosineScheduler,
    "linear_cosine_conf": schedulers.LinearCosineScheduler,
    "piecewise_constant_conf": lambda base_lr, boundaries, values, warmup: (
        schedulers.PiecewiseConstantScheduler(boundaries, values, warmup)
    ),
}
_WARMUP: dict[str, Callable[..., Warmup]] = {
    "constant_conf": warmup.constant,
    "linear_conf": warmup.linear,
}
# Options that every optimizer takes beside its own numbers.
_COMMON = ("learning_rate_decay", "warmup_conf", "clip_conf", "weight_decay_conf")
# Arguments that have another name today.
_NEW_NAMES = {"decay_batches": "steps", "warmup_batches": "steps"}


def optimizer_of(primary_lr: float, conf: Conf) -> JobOptimizer:
    """Return the optimizer that a description means.

    Args:
        primary_lr: the first learning rate.
        conf: such as ``{"momentum_conf": {"beta": 0.9}, "warmup_conf": {"linear_conf":
            {"warmup_batches": 100, "start_multiplier": 0}}, "learning_rate_decay":
            {"cosine_conf": {"decay_batches": 1000}}, "clip_conf": {"clip_by_global_norm":
            {"clip_norm": 1.0}}, "weight_decay_conf": {"weight_decay_rate": 1e-4}}``.

    Raises:
        ValueError: it names no optimizer or several, or something unknown.
    """
    kinds = {name: conf[name] for name in conf if name not in _COMMON}
    name, numbers = _only("model_update_conf", kinds, _OPTIMIZERS)
    plain, with_decay = _OPTIMIZERS[name]
    options = dict(numbers)
    clip = conf.get("clip_conf")
    if clip:
        _, norm = _only("clip_conf", clip, ("clip_by_global_norm",))
        options["grad_clipping"] = by_global_norm(**norm)
    decay = conf.get("weight_decay_conf")
    if not decay:
        return plain(_schedule(primary_lr, conf), **options)
    if with_decay is None:
        raise ValueError(f"`weight_decay_conf` does not go with `{name}`")
    options["weight_decay"] = decay["weight_decay_rate"]
    for choice in ("includes", "excludes"):
        if choice in decay:
            options[f"weight_decay_{choice}"] = decay[choice]["pattern"]
    return with_decay(_schedule(primary_lr, conf), **options)


def _schedule(primary_lr: float, conf: Conf) -> LrScheduler:
    """Return the learning rate of each step."""
    first_steps = None
    if conf.get("warmup_conf"):
        name, numbers = _only("warmup_conf", conf["warmup_conf"], _WARMUP)
        first_steps = _WARMUP[name](**_with_new_names(numbers))
    if not conf.get("learning_rate_decay"):
        return schedulers.PiecewiseConstantScheduler([], [primary_lr], first_steps)
    name, numbers = _only("learning_rate_decay", conf["learning_rate_decay"], _SCHEDULERS)
    return _SCHEDULERS[name](primary_lr, warmup=first_steps, **_with_new_names(numbers))


def _with_new_names(numbers: Conf) -> dict[str, Any]:
    return {_NEW_NAMES.get(name, name): value for name, value in numbers.items()}


def _only(where: str, conf: Conf, names: Mapping[str, Any] | tuple[str, ...]) -> tuple[str, Conf]:
    """Return the only entry of a description.

    Raises:
        ValueError: there is none, or there are several, or it is unknown.
    """
    if len(conf) != 1 or not conf.keys() <= set(names):
        raise ValueError(
            f"`{where}` must have one of {', '.join(names)}, got {', '.join(conf) or 'nothing'}"
        )
    (entry,) = conf.items()
    return entry
