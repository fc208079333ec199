"""Optimizers and learning rates of training jobs."""

# Generated from `base/old_modules.py` by `tools/make_stubs.py` (make stubs).
from oneflow.legacy import (
    grad_clipping as grad_clipping,
    loss_scale as loss_scale,
    warmup as warmup,
)
from oneflow.legacy.optimizers import (
    LAMB as LAMB,
    LARS as LARS,
    SGD as SGD,
    SGDW as SGDW,
    Adam as Adam,
    AdamW as AdamW,
    CombinedOptimizer as CombinedOptimizer,
    LazyAdam as LazyAdam,
    RMSProp as RMSProp,
)
from oneflow.legacy.schedulers import (
    CosineScheduler as CosineScheduler,
    CustomScheduler as CustomScheduler,
    ExponentialScheduler as ExponentialScheduler,
    InverseTimeScheduler as InverseTimeScheduler,
    LinearCosineScheduler as LinearCosineScheduler,
    LrScheduler as LrScheduler,
    NaturalExpScheduler as NaturalExpScheduler,
    PiecewiseConstantScheduler as PiecewiseConstantScheduler,
    PiecewiseScalingScheduler as PiecewiseScalingScheduler,
    PolynomialScheduler as PolynomialSchduler,
    PolynomialScheduler as PolynomialScheduler,
)

# fmt: off
__all__ = [
    "LAMB", "LARS", "SGD", "SGDW", "Adam", "AdamW", "CombinedOptimizer", "CosineScheduler",
    "CustomScheduler", "ExponentialScheduler", "InverseTimeScheduler", "LazyAdam",
    "LinearCosineScheduler", "LrScheduler", "NaturalExpScheduler", "PiecewiseConstantScheduler",
    "PiecewiseScalingScheduler", "PolynomialSchduler", "PolynomialScheduler", "RMSProp",
    "grad_clipping", "loss_scale", "warmup",
]
# fmt: on
