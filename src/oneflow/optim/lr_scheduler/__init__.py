"""Learning-rate schedulers."""

from oneflow.optim.lr_scheduler.combined import (
    ChainedScheduler as ChainedScheduler,
    SequentialLR as SequentialLR,
    WarmUpLR as WarmUpLR,
    WarmupLR as WarmupLR,
)
from oneflow.optim.lr_scheduler.cosine import (
    CosineAnnealingLR as CosineAnnealingLR,
    CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts,
    CosineDecayLR as CosineDecayLR,
)
from oneflow.optim.lr_scheduler.cyclic import CyclicLR as CyclicLR, OneCycleLR as OneCycleLR
from oneflow.optim.lr_scheduler.decay import (
    ConstantLR as ConstantLR,
    ExponentialLR as ExponentialLR,
    LinearLR as LinearLR,
    MultiStepLR as MultiStepLR,
    PolynomialLR as PolynomialLR,
    StepLR as StepLR,
)
from oneflow.optim.lr_scheduler.functions import (
    LambdaLR as LambdaLR,
    MultiplicativeLR as MultiplicativeLR,
)
from oneflow.optim.lr_scheduler.plateau import ReduceLROnPlateau as ReduceLROnPlateau
from oneflow.optim.lr_scheduler.scheduler import (
    LRScheduler as LRScheduler,
    LRScheduler as _LRScheduler,
)
