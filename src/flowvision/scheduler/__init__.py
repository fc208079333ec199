"""Schedules of learning rates that are told the epoch or the update, in the manner of timm."""

from flowvision.scheduler.cosine_lr import CosineLRScheduler as CosineLRScheduler
from flowvision.scheduler.linear_lr import LinearLRScheduler as LinearLRScheduler
from flowvision.scheduler.multistep_lr import MultiStepLRScheduler as MultiStepLRScheduler
from flowvision.scheduler.poly_lr import PolyLRScheduler as PolyLRScheduler
from flowvision.scheduler.scheduler import Scheduler as Scheduler
from flowvision.scheduler.step_lr import StepLRScheduler as StepLRScheduler
from flowvision.scheduler.tanh_lr import TanhLRScheduler as TanhLRScheduler
