"""CIFAR-10 and CIFAR-100."""

from oneflow.utils.vision.datasets import (
    CIFAR10 as CIFAR10,
    CIFAR100 as CIFAR100,
)
