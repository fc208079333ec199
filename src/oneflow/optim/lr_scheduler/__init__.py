"""Learning-rate schedulers."""

from oneflow.optim.lr_scheduler.combined import ChainedScheduler as ChainedScheduler
from oneflow.optim.lr_scheduler.combined import SequentialLR as SequentialLR
from oneflow.optim.lr_scheduler.combined import WarmUpLR as WarmUpLR
from oneflow.optim.lr_scheduler.combined import WarmUpLR as WarmupLR
from oneflow.optim.lr_scheduler.cosine import CosineAnnealingLR as CosineAnnealingLR
from oneflow.optim.lr_scheduler.cosine import (
    CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts,
)
from oneflow.optim.lr_scheduler.cosine import CosineDecayLR as CosineDecayLR
from oneflow.optim.lr_scheduler.cyclic import CyclicLR as CyclicLR
from oneflow.optim.lr_scheduler.cyclic import OneCycleLR as OneCycleLR
from oneflow.optim.lr_scheduler.decay import ConstantLR as ConstantLR
from oneflow.optim.lr_scheduler.decay import ExponentialLR as ExponentialLR
from oneflow.optim.lr_scheduler.decay import LinearLR as LinearLR
from oneflow.optim.lr_scheduler.decay import MultiStepLR as MultiStepLR
from oneflow.optim.lr_scheduler.decay import PolynomialLR as PolynomialLR
from oneflow.optim.lr_scheduler.decay import StepLR as StepLR
from oneflow.optim.lr_scheduler.functions import LambdaLR as LambdaLR
from oneflow.optim.lr_scheduler.functions import MultiplicativeLR as MultiplicativeLR
from oneflow.optim.lr_scheduler.plateau import ReduceLROnPlateau as ReduceLROnPlateau
from oneflow.optim.lr_scheduler.scheduler import LRScheduler as LRScheduler
