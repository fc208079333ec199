"""Optimizers made for embedding tables."""

from oneflow.optim.ftrl import Ftrl as Ftrl
